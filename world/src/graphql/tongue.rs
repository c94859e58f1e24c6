//! From a request's bytes to an answer's: parse, check, reckon, run, and write the errors as GitHub does.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apollo_compiler::ast::{self, OperationType};
use apollo_compiler::collections::HashMap as TypeMap;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::resolvers::Execution;
use apollo_compiler::response::{ExecutionResponse, GraphQLError, JsonMap};
use apollo_compiler::schema::Implementers;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::audit::{Asked, Audit};
use super::resolve::{Budget, Departures, FAILURE_MARK, Notes, Session, Thing};
use crate::graph::World;

/// The schema's text.
pub const SCHEMA: &str = include_str!("../../schema.graphql");

/// Parsed documents kept: a client writes a few, and one for each size of a batch.
const MOST_DOCUMENTS: usize = 256;

/// How often an execution starts over because the graph held one more word than the schema.
const MOST_TOMORROWS: usize = 8;

/// What a client posts.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Request {
    pub query: String,
    #[serde(default)]
    pub variables: Option<Map<String, Value>>,
    #[serde(default, rename = "operationName")]
    pub operation_name: Option<String>,
}

/// What goes back.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    pub body: Vec<u8>,
}

/// A schema with the documents that were checked against it.
struct Tongue {
    schema: Valid<Schema>,
    implementers: TypeMap<Name, Implementers>,
    additions: BTreeSet<String>,
    documents: Mutex<HashMap<String, Arc<Valid<ExecutableDocument>>>>,
}

impl Tongue {
    fn today() -> Arc<Self> {
        static TODAY: OnceLock<Arc<Tongue>> = OnceLock::new();
        Arc::clone(
            TODAY.get_or_init(|| Self::with(BTreeSet::new()).expect("the schema in this crate is valid")),
        )
    }

    /// The schema with words that GitHub may add one day. `None` where they make it invalid.
    ///
    /// GitHub's own schema says `databaseId: Int` and its answers hold numbers beyond 32 bits there; so do
    /// these.
    fn with(additions: BTreeSet<String>) -> Option<Arc<Self>> {
        let mut text = SCHEMA.replace("databaseId: Int", "databaseId: BigInt");
        for addition in &additions {
            text.push('\n');
            text.push_str(addition);
        }
        let schema = Schema::parse_and_validate(text, "schema.graphql")
            .inspect_err(|error| tracing::error!(%error, "a schema with tomorrow's words is invalid"))
            .ok()?;
        let implementers = schema.implementers_map();
        Some(Arc::new(Self {
            schema,
            implementers,
            additions,
            documents: Mutex::default(),
        }))
    }

    fn document(&self, text: &str) -> Result<Arc<Valid<ExecutableDocument>>, Vec<Value>> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = documents.get(text) {
            return Ok(Arc::clone(known));
        }
        let parsed = ExecutableDocument::parse_and_validate(&self.schema, text, "query.graphql");
        let document = Arc::new(parsed.map_err(|invalid| {
            let errors = invalid.errors.iter().map(|diagnostic| {
                let compatible = diagnostic.error.unstable_compat_message();
                let error = diagnostic.to_json();
                json!({ "message": compatible.unwrap_or(error.message), "locations": error.locations })
            });
            errors.collect::<Vec<_>>()
        })?);
        if documents.len() >= MOST_DOCUMENTS {
            documents.clear();
        }
        documents.insert(text.to_owned(), Arc::clone(&document));
        Ok(document)
    }
}

/// Answers documents. It learns words that the graph uses and the schema does not know yet: then the
/// schema is tomorrow's, in which they are declared.
pub(crate) struct Speaker {
    tongue: Mutex<Arc<Tongue>>,
}

/// A document that may run.
pub(crate) struct Prepared {
    tongue: Arc<Tongue>,
    document: Arc<Valid<ExecutableDocument>>,
    variables: Valid<JsonMap>,
    audit: Audit,
}

/// A document that may not.
pub(crate) struct Unfit {
    pub answer: Answered,
    pub is_mutation: bool,
}

impl Prepared {
    pub fn asked(&self) -> &Asked {
        &self.audit.asked
    }

    pub fn cost(&self) -> u64 {
        self.audit.cost
    }
}

impl Speaker {
    pub fn new() -> Self {
        Self {
            tongue: Mutex::new(Tongue::today()),
        }
    }

    fn tongue(&self) -> Arc<Tongue> {
        Arc::clone(&self.tongue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Parses and checks a request, and reckons what it asks for.
    pub fn prepare(&self, request: &Request) -> Result<Prepared, Box<Unfit>> {
        let tongue = self.tongue();
        let unfit = |errors: Vec<Value>| {
            let is_mutation = asks_to_write(&request.query);
            let errors = if is_mutation {
                vec![json!({"type": "FORBIDDEN", "message": "This world accepts no mutation."})]
            } else {
                errors
            };
            let body = json!({ "errors": errors }).to_string().into_bytes();
            Box::new(Unfit {
                answer: Answered { body },
                is_mutation,
            })
        };
        let document = tongue.document(&request.query).map_err(unfit)?;
        let request_error = |error: apollo_compiler::request::RequestError| {
            unfit(vec![json!(error.to_graphql_error(&document.sources))])
        };
        let operation = document
            .operations
            .get(request.operation_name.as_deref())
            .map_err(request_error)?;
        let raw: JsonMap = match &request.variables {
            Some(variables) => variables
                .iter()
                .map(|(name, value)| (name.as_str().into(), value.clone().into()))
                .collect(),
            None => JsonMap::new(),
        };
        let variables = coerce_variable_values(&tongue.schema, operation, &raw).map_err(request_error)?;
        let audit = Audit::of(&document, operation, &variables);
        if !audit.refusals.is_empty() {
            let errors = audit
                .refusals
                .iter()
                .map(|(kind, message, path)| json!({"type": kind, "path": path, "message": message}));
            return Err(unfit(errors.collect()));
        }
        Ok(Prepared {
            tongue,
            document,
            variables,
            audit,
        })
    }

    /// Runs a document against a world.
    pub fn answer(
        &self,
        world: &World,
        request: &Request,
        mut prepared: Prepared,
        budget: Budget,
        departures: &Departures,
    ) -> Answered {
        for _ in 0..MOST_TOMORROWS {
            let (response, notes) = prepared.run(world, request, budget, departures);
            if !notes.tomorrow.is_empty() {
                let additions = prepared
                    .tongue
                    .additions
                    .union(&notes.tomorrow)
                    .cloned()
                    .collect();
                if let Some(tongue) = Tongue::with(additions) {
                    *self.tongue.lock().unwrap_or_else(PoisonError::into_inner) = tongue;
                    match self.prepare(request) {
                        Ok(again) => {
                            prepared = again;
                            continue;
                        }
                        Err(unfit) => return unfit.answer,
                    }
                }
            }
            return Answered {
                body: written(response, &notes),
            };
        }
        let body = json!({"errors": [{"message": "Something went wrong while executing your query."}]});
        Answered {
            body: body.to_string().into_bytes(),
        }
    }
}

impl Prepared {
    fn run(
        &self,
        world: &World,
        request: &Request,
        budget: Budget,
        departures: &Departures,
    ) -> (ExecutionResponse, Notes) {
        let session = Session {
            world,
            schema: &self.tongue.schema,
            budget,
            cost: self.audit.cost,
            node_count: self.audit.node_count,
            departures,
            notes: std::cell::RefCell::default(),
        };
        let nothing = Map::new();
        let root = Thing {
            session: &session,
            json: &nothing,
            root: &nothing,
            ty: "Query",
        };
        let operation = self.document.operations.get(request.operation_name.as_deref());
        let execution = Execution::new(&self.tongue.schema, &self.document)
            .operation(operation.expect("prepare found the operation"))
            .implementers_map(&self.tongue.implementers)
            .coerced_variable_values(&self.variables)
            .enable_schema_introspection(true);
        let response = execution
            .execute_sync(&root)
            .unwrap_or_else(|error| ExecutionResponse {
                errors: vec![error.to_graphql_error(&self.document.sources)],
                data: None,
            });
        (response, session.notes.into_inner())
    }
}

/// Whether a document holds a mutation, valid or not.
fn asks_to_write(text: &str) -> bool {
    let document = match ast::Document::parse(text, "query.graphql") {
        Ok(document) => document,
        Err(broken) => broken.partial,
    };
    document.definitions.iter().any(|definition| {
        definition
            .as_operation_definition()
            .is_some_and(|op| op.operation_type == OperationType::Mutation)
    })
}

#[derive(Serialize)]
struct Written {
    data: Option<JsonMap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Value>,
}

fn written(mut response: ExecutionResponse, notes: &Notes) -> Vec<u8> {
    if let (false, Some(data)) = (notes.large.is_empty(), &mut response.data) {
        data.iter_mut().for_each(|(_, value)| notes.restore(value));
    }
    let errors = response
        .errors
        .iter()
        .map(|error| written_error(error, notes))
        .collect();
    let written = Written {
        data: response.data,
        errors,
    };
    serde_json::to_vec(&written).expect("maps with text keys are JSON")
}

fn written_error(error: &GraphQLError, notes: &Notes) -> Value {
    let mut map = Map::new();
    let number = error
        .message
        .split_once(FAILURE_MARK)
        .and_then(|(_, number)| number.parse::<usize>().ok());
    let failure = number.and_then(|number| notes.failures.get(number));
    if let Some(kind) = failure.and_then(|failure| failure.kind.as_ref()) {
        map.insert("type".into(), json!(kind));
    }
    map.insert("path".into(), json!(error.path));
    if let Some(failure) = failure.filter(|failure| !failure.extensions.is_empty()) {
        map.insert("extensions".into(), Value::Object(failure.extensions.clone()));
    }
    map.insert("locations".into(), json!(error.locations));
    let message = failure.map_or(error.message.as_str(), |failure| failure.message.as_str());
    map.insert("message".into(), json!(message));
    Value::Object(map)
}
