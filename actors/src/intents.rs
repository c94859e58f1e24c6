//! What the author's half asks of its actors: one type an intent, the fields as they stand at the top
//! level of a message (contract, section 3; `pr-state.md`, "Routing").
//!
//! Only `repo` and `pr` are required, so that a person or a script can send an intent by hand; the
//! dispatcher fills in the rest. A field with nothing to say is left out of the line.

use mailbox::{Digest, Subject};
use pulls::{Login, PrNumber, PrRef, RepoName, Sha};
use runtime::Intent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every intent of the author's half says of its pull request.
pub trait AboutPull {
    /// The pull request.
    fn at(&self) -> PrRef;
    /// The commit that the sender saw, where it said so.
    fn head(&self) -> Option<&Sha>;
    /// The rule that sent it, where a rule did.
    fn rule(&self) -> Option<&str>;
    /// Why, for people.
    fn reason(&self) -> &str;
}

/// Writes an intent's type: the common fields, its own ones, its name, subject and evidence.
macro_rules! pull_intent {
    (
        $(#[$doc:meta])*
        $type:ident = $name:literal, own { $($(#[$field_doc:meta])* $field:ident: $field_type:ty),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            /// The repository, as GitHub names it now.
            pub repo: RepoName,
            /// The pull request's number.
            pub pr: PrNumber,
            /// The pull request's head commit when the message was made.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub head_sha: Option<Sha>,
            /// The rule that put the pull request into its bucket.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rule: Option<String>,
            /// Why, for people.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub reason: String,
            $(
                $(#[$field_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$field_type>,
            )*
            /// What the rules saw, for people and for the record; ages and counts among it are no evidence.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub signals: Option<serde_json::Value>,
        }

        impl $type {
            /// The intent with nothing but its pull request, as a person sends it by hand.
            pub fn about(at: PrRef) -> Self {
                Self {
                    repo: at.repo,
                    pr: at.number,
                    head_sha: None,
                    rule: None,
                    reason: String::new(),
                    $($field: None,)*
                    signals: None,
                }
            }
        }

        impl AboutPull for $type {
            fn at(&self) -> PrRef {
                PrRef { repo: self.repo.clone(), number: self.pr }
            }

            fn head(&self) -> Option<&Sha> {
                self.head_sha.as_ref()
            }

            fn rule(&self) -> Option<&str> {
                self.rule.as_deref()
            }

            fn reason(&self) -> &str {
                &self.reason
            }
        }

        impl Intent for $type {
            const NAME: &'static str = $name;

            fn subject(&self) -> Option<Subject> {
                // Case is folded, since GitHub folds it: one pull request is one subject.
                let folded = self.at().to_string().to_ascii_lowercase();
                Some(folded.parse().expect("a repository's name and a number are short and printable"))
            }

            fn evidence(&self) -> Option<Digest> {
                // Without the head nothing is known to be unchanged.
                let head = self.head_sha.as_ref()?;
                let own = [$(format!("{}={:?}", stringify!($field), self.$field)),*].join("\n");
                let rule = self.rule.as_deref().unwrap_or_default();
                Some(Digest::of(format!("{}\n{head}\n{rule}\n{own}", $name).as_bytes()))
            }
        }
    };
}

pull_intent! {
    /// The gates are stale or a check failed: attest the head again (bucket `qa`).
    Reattest = "reattest", own {
        /// The branch, as its author named it.
        branch: String,
        /// The check that failed, where one did.
        check: String,
    }
}

pull_intent! {
    /// A reviewer waits for an answer (bucket `investigate`).
    Respond = "respond", own {
        /// Who waits.
        reviewer: Login,
        /// The comment or review that asks.
        comment_url: String,
    }
}

pull_intent! {
    /// This pull request should be closed, and a person decides it (bucket `close`).
    Close = "close", own {
        /// The branch, as its author named it.
        branch: String,
    }
}

pull_intent! {
    /// The branch must be rebased before anything else can happen (bucket `rebase`).
    Rebase = "rebase", own {
        /// The branch, as its author named it.
        branch: String,
    }
}

pull_intent! {
    /// Approved, green and without open conversation: a maintainer can merge (bucket `ship`).
    Ship = "ship", own {
        /// The branch, as its author named it.
        branch: String,
    }
}

pull_intent! {
    /// Nothing to do; kept for the record (bucket `wait`).
    Audit = "audit", own {
        /// The bucket that the record is of.
        bucket: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reattest(head: &str, rule: &str) -> Reattest {
        let mut intent = Reattest::about("o/R#7".parse().unwrap());
        intent.head_sha = Some(head.repeat(40).parse().unwrap());
        intent.rule = Some(rule.to_owned());
        intent
    }

    #[test]
    fn one_pull_request_is_one_subject_whatever_the_case_of_its_name() {
        let other = Reattest::about("O/r#7".parse().unwrap());
        assert_eq!(reattest("a", "qa.ci").subject(), other.subject());
    }

    #[test]
    fn evidence_is_the_head_and_the_rule_but_no_age_or_count() {
        let first = reattest("a", "qa.ci");
        let mut later = first.clone();
        later.reason = "CI failure for 3 h".to_owned();
        later.signals = Some(serde_json::json!({"activity_h": 3.0}));
        assert_eq!(first.evidence(), later.evidence());
        assert_ne!(first.evidence(), reattest("b", "qa.ci").evidence());
        assert_ne!(first.evidence(), reattest("a", "qa.gate").evidence());
    }

    #[test]
    fn without_a_head_nothing_counts_as_unchanged() {
        assert_eq!(Reattest::about("o/r#7".parse().unwrap()).evidence(), None);
    }

    #[test]
    fn an_intent_sent_by_hand_needs_only_the_pull_request() {
        let intent: Respond = serde_json::from_str(r#"{"repo":"o/r","pr":7}"#).unwrap();
        assert_eq!(intent, Respond::about("o/r#7".parse().unwrap()));
        assert_eq!(
            serde_json::to_string(&intent).unwrap(),
            r#"{"repo":"o/r","pr":7}"#
        );
    }
}
