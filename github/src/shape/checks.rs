//! `ContextPage` and `SuitePage`: check runs, statuses, suites.

use pulls::facts::{Check, CheckRun, CheckStatus, CommitStatus, Conclusion, StatusState, Suite, Time};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Actor, account, blank};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct App {
    #[serde(default)]
    database_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct WorkflowRun {
    #[serde(default, deserialize_with = "blank")]
    event: Option<String>,
    #[serde(default)]
    workflow: Option<Workflow>,
}

#[derive(Debug, Deserialize)]
struct Workflow {
    #[serde(default, deserialize_with = "blank")]
    name: Option<String>,
}

/// What a run or a suite was made by: app, workflow, event.
fn made_by(app: Option<App>, run: Option<WorkflowRun>) -> (Option<u64>, Option<String>, Option<String>) {
    let (event, workflow) = run.map_or((None, None), |run| (run.event, run.workflow));
    (
        app.and_then(|app| app.database_id),
        workflow.and_then(|workflow| workflow.name),
        event,
    )
}

/// A union whose members may grow.
#[derive(Debug)]
pub(crate) enum Context {
    Run(Box<RunShape>),
    Status(StatusShape),
    Unknown(String),
}

impl<'de> Deserialize<'de> for Context {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(input)?;
        let typename = value
            .get("__typename")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        match typename {
            "CheckRun" => serde_json::from_value(value).map(Self::Run),
            "StatusContext" => serde_json::from_value(value).map(Self::Status),
            other => Ok(Self::Unknown(other.to_owned())),
        }
        .map_err(D::Error::custom)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunShape {
    #[serde(default)]
    database_id: Option<u64>,
    name: String,
    status: CheckStatus,
    #[serde(default, deserialize_with = "blank")]
    conclusion: Option<Conclusion>,
    #[serde(default, deserialize_with = "blank")]
    started_at: Option<Time>,
    #[serde(default, deserialize_with = "blank")]
    completed_at: Option<Time>,
    #[serde(default, deserialize_with = "blank")]
    url: Option<String>,
    check_suite: Maker,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Maker {
    #[serde(default)]
    database_id: Option<u64>,
    #[serde(default)]
    app: Option<App>,
    #[serde(default)]
    workflow_run: Option<WorkflowRun>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusShape {
    context: String,
    state: StatusState,
    created_at: Time,
    #[serde(default)]
    creator: Option<Actor>,
    #[serde(default, deserialize_with = "blank")]
    target_url: Option<String>,
    #[serde(default, deserialize_with = "blank")]
    avatar_url: Option<String>,
}

/// The app whose picture this is: `https://avatars.…/in/15368?s=80`, where a person's is `…/u/583231`.
fn app_of_picture(url: &str) -> Option<u64> {
    let (_, path) = url.split_once("://")?.1.split_once('/')?;
    let number = path.strip_prefix("in/")?;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

/// An entry that is null is one that nothing is known of, and so no reason to call a head green.
pub(crate) fn check(context: Option<Context>) -> Check {
    match context {
        Some(Context::Run(run)) => {
            let (app, workflow, event) = made_by(run.check_suite.app, run.check_suite.workflow_run);
            Check::Run(CheckRun {
                // GitHub numbers every run; 0 would be older than any.
                id: run.database_id.unwrap_or(0),
                name: run.name,
                app,
                workflow,
                event,
                status: run.status,
                conclusion: run.conclusion,
                started_at: run.started_at,
                completed_at: run.completed_at,
                url: run.url,
                suite: run.check_suite.database_id,
            })
        }
        Some(Context::Status(status)) => Check::Status(CommitStatus {
            context: status.context,
            state: status.state,
            created_at: status.created_at,
            creator: account(status.creator),
            url: status.target_url,
            app: status.avatar_url.as_deref().and_then(app_of_picture),
        }),
        Some(Context::Unknown(typename)) => Check::Unknown { typename },
        None => Check::Unknown {
            typename: "null".to_owned(),
        },
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuiteShape {
    #[serde(default)]
    database_id: Option<u64>,
    #[serde(default)]
    app: Option<App>,
    #[serde(default)]
    workflow_run: Option<WorkflowRun>,
    status: CheckStatus,
    #[serde(default, deserialize_with = "blank")]
    conclusion: Option<Conclusion>,
    created_at: Time,
    #[serde(default)]
    check_runs: Option<Counted>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    total_count: u64,
}

impl From<SuiteShape> for Suite {
    fn from(suite: SuiteShape) -> Self {
        let (app, workflow, event) = made_by(suite.app, suite.workflow_run);
        Self {
            id: suite.database_id.unwrap_or(0),
            app,
            workflow,
            event,
            status: suite.status,
            conclusion: suite.conclusion,
            runs: suite.check_runs.map_or(0, |runs| runs.total_count),
            created_at: suite.created_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b024_the_app_of_a_status_is_in_its_picture() {
        for (url, expected) in [
            (
                "https://avatars.githubusercontent.com/in/15368?s=80&v=4",
                Some(15_368),
            ),
            ("https://avatars.githubusercontent.com/in/254", Some(254)),
            ("https://avatars.githubusercontent.com/u/583231?v=4", None),
            ("https://ghe.example.org/avatars/in/7", None),
            ("https://avatars.githubusercontent.com/u/1?next=/in/7", None),
            ("/in/7", None),
            ("", None),
        ] {
            assert_eq!(app_of_picture(url), expected, "{url}");
        }
    }
}
