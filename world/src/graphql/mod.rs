//! Any valid GraphQL document, answered from the graph.

mod audit;
mod computed;
mod connection;
mod defaults;
mod lists;
mod resolve;
mod search;
mod tongue;

pub(crate) use audit::Asked;
pub(crate) use resolve::{Budget, Departures, Failure, Refusal};
pub use tongue::SCHEMA;
pub(crate) use tongue::{Prepared, Request, Speaker};

use serde_json::{Map, Value};

use crate::graph::World;

impl World {
    /// Answers a GraphQL document without HTTP, as a served world would with nothing spent yet.
    pub fn ask(&self, document: &str) -> Value {
        self.answer(Request {
            query: document.to_owned(),
            variables: None,
            operation_name: None,
        })
    }

    /// The same for one operation of a document that may have several, with variables.
    pub fn ask_operation(&self, document: &str, operation: &str, variables: Map<String, Value>) -> Value {
        self.answer(Request {
            query: document.to_owned(),
            variables: Some(variables),
            operation_name: Some(operation.to_owned()),
        })
    }

    fn answer(&self, request: Request) -> Value {
        let speaker = Speaker::new();
        let budget = Budget {
            limit: 5_000,
            used: 0,
            reset_at: self.now() + chrono::TimeDelta::hours(1),
        };
        let body = match speaker.prepare(&request) {
            Ok(prepared) => {
                speaker
                    .answer(self, &request, prepared, budget, &Departures::default())
                    .body
            }
            Err(unfit) => unfit.answer.body,
        };
        serde_json::from_slice(&body).expect("the world writes JSON")
    }
}
