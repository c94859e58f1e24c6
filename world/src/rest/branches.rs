//! What a branch is and what it asks for: its summary, its protection, the rules of rulesets.
//!
//! A branch's name is one segment of the path, so that a slash in it is to be written `%2F`.

use serde_json::{Map, Value, json};

use super::{commit, escaped, text};
use crate::faults::Canned;
use crate::graph::World;

/// GitHub's own sizes of a page of rules.
const USUAL_PAGE: usize = 30;
const LARGEST_PAGE: usize = 100;

/// What is asked of a repository's branches.
pub(super) struct Asked<'a> {
    pub world: &'a World,
    pub base: &'a str,
    pub repo: u64,
    /// `owner/name`.
    pub full: &'a str,
    pub query: &'a str,
}

impl Asked<'_> {
    /// The answer for a path below the repository, where it is about branches.
    pub fn answer(&self, rest: &[&str]) -> Option<Canned> {
        Some(match rest {
            ["branches", branch] => self.branch(branch),
            ["branches", branch, "protection"] => self.protection(branch, Self::whole),
            ["branches", branch, "protection", "required_status_checks"] => {
                self.protection(branch, Self::status_checks)
            }
            ["rules", "branches", branch] => self.rules(branch),
            _ => return None,
        })
    }

    fn node(&self, branch: &str) -> Option<&Value> {
        let key = format!("ref:{}:refs/heads/{branch}", self.repo);
        self.world.value(&key)
    }

    /// What a spec says that the branch asks for, or that nobody said anything.
    fn asks(&self, branch: &str) -> &Value {
        self.node(branch)
            .and_then(|node| node.get("_asks"))
            .unwrap_or(&Value::Null)
    }

    fn url(&self, branch: &str) -> String {
        let branch = escaped(branch);
        format!("{}/repos/{}/branches/{branch}", self.base, self.full)
    }

    fn branch(&self, branch: &str) -> Canned {
        let asks = self.asks(branch);
        if let Some(refusal) = refused(&asks["branchAnswers"]) {
            return refusal;
        }
        let Some(node) = self.node(branch) else {
            return error(404, "Branch not found");
        };
        let is_protected = asks["protection"].is_array();
        let has_rules = asks["ruleset"]
            .as_array()
            .is_some_and(|checks| !checks.is_empty());
        let target = node.get("target").and_then(|target| self.world.follow(target));
        let url = self.url(branch);
        let html = format!("{}/{}/tree/{branch}", crate::graph::SITE, self.full);
        let mut body = json!({
            "name": branch, "commit": commit(self.base, self.full, target.unwrap_or(&Value::Null)),
            "_links": { "self": url, "html": html },
            "protected": is_protected || has_rules || asks["otherRules"] == json!(true),
            "protection_url": format!("{url}/protection"),
        });
        if asks["bare"] != json!(true) {
            let checks = checks_of(asks);
            let level = match checks.is_empty() {
                true => "off",
                false => "everyone",
            };
            body["protection"] = json!({
                "enabled": is_protected,
                "required_status_checks": {
                    "enforcement_level": level, "contexts": contexts(&checks), "checks": checks,
                },
            });
        }
        Canned::json(200, &body)
    }

    /// Protection, or a part of it: for administrators.
    fn protection(&self, branch: &str, part: fn(&Self, &str, &[Value]) -> Canned) -> Canned {
        let asks = self.asks(branch);
        if let Some(refusal) = refused(&asks["protectionAnswers"]) {
            return refusal;
        }
        let repo = self.world.node(&World::repo_key(self.repo));
        let may_read = repo.and_then(|repo| repo.get("viewerCanAdminister")) == Some(&json!(true));
        if !may_read {
            return error(404, "Not Found");
        }
        if self.node(branch).is_none() {
            return error(404, "Branch not found");
        }
        if !asks["protection"].is_array() {
            return error(404, "Branch not protected");
        }
        part(self, branch, &checks_of(asks))
    }

    fn whole(&self, branch: &str, checks: &[Value]) -> Canned {
        let url = format!("{}/protection", self.url(branch));
        let mut body = json!({
            "url": url,
            "required_signatures": { "url": format!("{url}/required_signatures"), "enabled": false },
            "enforce_admins": { "url": format!("{url}/enforce_admins"), "enabled": false },
        });
        for switch in [
            "required_linear_history",
            "allow_force_pushes",
            "allow_deletions",
            "block_creations",
            "required_conversation_resolution",
            "lock_branch",
            "allow_fork_syncing",
        ] {
            body[switch] = json!({ "enabled": false });
        }
        if !checks.is_empty() {
            body["required_status_checks"] = self.policy(branch, checks);
        }
        Canned::json(200, &body)
    }

    fn status_checks(&self, branch: &str, checks: &[Value]) -> Canned {
        if checks.is_empty() {
            return error(404, "Required status checks not enabled");
        }
        Canned::json(200, &self.policy(branch, checks))
    }

    fn policy(&self, branch: &str, checks: &[Value]) -> Value {
        let url = format!("{}/protection/required_status_checks", self.url(branch));
        json!({
            "url": url, "strict": false, "contexts": contexts(checks), "contexts_url": format!("{url}/contexts"),
            "checks": checks,
        })
    }

    /// The rules of every ruleset that holds for the branch, in pages. A branch that is not there has none.
    fn rules(&self, branch: &str) -> Canned {
        let asks = self.asks(branch);
        if let Some(refusal) = refused(&asks["rulesetAnswers"]) {
            return refusal;
        }
        let rule = |kind: &str, parameters: Option<Value>| {
            let mut rule = Map::new();
            rule.insert("type".into(), json!(kind));
            rule.extend(parameters.map(|parameters| ("parameters".to_owned(), parameters)));
            rule.insert("ruleset_source_type".into(), json!("Repository"));
            rule.insert("ruleset_source".into(), json!(self.full));
            rule.insert("ruleset_id".into(), asks["rulesetId"].clone());
            Value::Object(rule)
        };
        let mut rules = Vec::new();
        if asks["otherRules"] == json!(true) {
            rules.push(rule("deletion", None));
            rules.push(rule("non_fast_forward", None));
            let review = json!({
                "required_approving_review_count": 1, "dismiss_stale_reviews_on_push": true,
                "require_code_owner_review": false, "require_last_push_approval": false,
                "required_review_thread_resolution": false,
            });
            rules.push(rule("pull_request", Some(review)));
        }
        let listed = asks["ruleset"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !listed.is_empty() {
            // An app that is not named has no key at all.
            let checks = listed.iter().map(|check| match check["app_id"].as_u64() {
                Some(app) => json!({ "context": check["context"], "integration_id": app }),
                None => json!({ "context": check["context"] }),
            });
            let parameters = json!({
                "strict_required_status_checks_policy": false, "do_not_enforce_on_create": false,
                "required_status_checks": checks.collect::<Vec<_>>(),
            });
            rules.push(rule("required_status_checks", Some(parameters)));
        }
        self.page(branch, rules)
    }

    fn page(&self, branch: &str, mut rules: Vec<Value>) -> Canned {
        let number = |name: &str| {
            let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
            values.next().and_then(|value| value.parse::<usize>().ok())
        };
        let size = number("per_page").unwrap_or(USUAL_PAGE).clamp(1, LARGEST_PAGE);
        let page = number("page").unwrap_or(1).max(1);
        let start = size.saturating_mul(page - 1).min(rules.len());
        let end = start.saturating_add(size).min(rules.len());
        let more = end < rules.len();
        rules.truncate(end);
        rules.drain(..start);
        let answer = Canned::json(200, &json!(rules));
        if !more {
            return answer;
        }
        let branch = escaped(branch);
        let url = format!("{}/repos/{}/rules/branches/{branch}", self.base, self.full);
        answer.header(
            "link",
            format!("<{url}?per_page={size}&page={}>; rel=\"next\"", page + 1),
        )
    }
}

fn checks_of(asks: &Value) -> Vec<Value> {
    asks["protection"].as_array().cloned().unwrap_or_default()
}

fn contexts(checks: &[Value]) -> Vec<&str> {
    checks.iter().map(|check| text(check.get("context"))).collect()
}

/// What a spec refuses, in GitHub's words.
fn refused(status: &Value) -> Option<Canned> {
    let status = status.as_u64().and_then(|status| u16::try_from(status).ok())?;
    Some(match status {
        403 => error(403, "Resource not accessible by integration"),
        404 => error(404, "Not Found"),
        other => error(other, "Server Error"),
    })
}

fn error(status: u16, message: &str) -> Canned {
    let body = json!({
        "message": message, "documentation_url": "https://docs.github.com/rest/branches/branch-protection",
        "status": status.to_string(),
    });
    Canned::json(status, &body)
}
