//! What one actor declares, checked when the program starts.

use std::any::TypeId;
use std::collections::BTreeSet;

use mailbox::{HEADER_FIELDS, MailboxName, NameError};
use schemars::Schema;
use serde_json::Value;

use crate::message::{About, Body, DecodeError, IntentDeclaration};
use crate::{Actor, External, Message};

/// How deep a schema is searched for its properties: more than any payload has, less than a loop of references.
const SCHEMA_DEPTH: usize = 16;

/// The intents of one actor, and who handles them.
#[derive(Debug)]
pub(super) enum Declaration {
    /// A Rust type, whose payloads are known.
    Typed {
        actor: TypeId,
        intents: Vec<(IntentDeclaration, Schema)>,
    },
    /// No Rust type: only the intents' names are known.
    External { intents: Vec<String>, by: HandledBy },
}

/// Who handles an actor's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandledBy {
    /// A Rust type.
    Type,
    /// A program that is run for each message.
    Program,
    /// Whoever takes them from outside: the pull side.
    Pull,
}

impl Declaration {
    /// What a Rust type declares.
    pub(super) fn of<A: Actor>(name: &MailboxName) -> Result<Self, RegistryError> {
        let intents: Vec<_> = A::Message::intents()
            .into_iter()
            .map(|intent| (intent, intent.schema()))
            .collect();
        let verbs = intents
            .iter()
            .flat_map(|(intent, _)| [&[intent.name()], intent.aliases()].concat());
        refuse_repeats(name, verbs)?;
        for (intent, schema) in &intents {
            refuse_shadowing(name, intent.name(), schema)?;
        }
        let actor = TypeId::of::<A>();
        Ok(Self::Typed { actor, intents })
    }

    /// What an actor declares that is no Rust type.
    pub(super) fn external(external: &External) -> Result<Self, RegistryError> {
        let External { name, consumes, argv } = external;
        refuse_repeats(name, consumes.iter().map(String::as_str))?;
        let by = match argv {
            Some(_) => HandledBy::Program,
            None => HandledBy::Pull,
        };
        let intents = consumes.clone();
        Ok(Self::External { intents, by })
    }

    /// Whether the other says the same.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Typed { actor, .. }, Self::Typed { actor: other, .. }) => actor == other,
            (
                Self::External { intents, by },
                Self::External {
                    intents: others,
                    by: other,
                },
            ) => intents == others && by == other,
            (Self::Typed { .. }, Self::External { .. }) | (Self::External { .. }, Self::Typed { .. }) => {
                false
            }
        }
    }

    pub(super) fn handled_by(&self) -> HandledBy {
        match self {
            Self::Typed { .. } => HandledBy::Type,
            Self::External { by, .. } => *by,
        }
    }

    /// The intents' names, in the order of the declaration.
    pub(super) fn intents(&self) -> Vec<&str> {
        match self {
            Self::Typed { intents, .. } => intents.iter().map(|(intent, _)| intent.name()).collect(),
            Self::External { intents, .. } => intents.iter().map(String::as_str).collect(),
        }
    }

    /// Whether a message of this intent is consumed, by its name or an earlier one.
    pub(super) fn consumes(&self, intent: &str) -> bool {
        match self {
            Self::Typed { .. } => self.typed(intent).is_some(),
            Self::External { intents, .. } => intents.iter().any(|declared| declared == intent),
        }
    }

    /// The JSON Schema of an intent's payload, where it is known.
    pub(super) fn schema(&self, intent: &str) -> Option<&Schema> {
        self.typed(intent).map(|(_, schema)| schema)
    }

    /// What a message says of itself, where its intent is declared as a type.
    pub(super) fn about(&self, message: &mailbox::Message) -> Option<Result<About, DecodeError>> {
        let (intent, _) = self.typed(message.intent())?;
        Some(intent.about(&Body::of(message)))
    }

    fn typed(&self, intent: &str) -> Option<&(IntentDeclaration, Schema)> {
        match self {
            Self::Typed { intents, .. } => intents.iter().find(|(declared, _)| declared.answers_to(intent)),
            Self::External { .. } => None,
        }
    }
}

fn refuse_repeats<'v>(
    actor: &MailboxName,
    verbs: impl IntoIterator<Item = &'v str>,
) -> Result<(), RegistryError> {
    let mut seen = BTreeSet::new();
    match verbs.into_iter().find(|verb| !seen.insert(*verb)) {
        Some(verb) => Err(RegistryError::Twice {
            actor: actor.clone(),
            intent: verb.to_owned(),
        }),
        None => Ok(()),
    }
}

fn refuse_shadowing(actor: &MailboxName, intent: &'static str, schema: &Schema) -> Result<(), RegistryError> {
    let root = schema.as_value();
    if root.get("type").is_some_and(|kind| kind != "object") {
        return Err(RegistryError::NotAnObject {
            actor: actor.clone(),
            intent,
        });
    }
    match HEADER_FIELDS
        .into_iter()
        .find(|field| has_property(root, root, field, SCHEMA_DEPTH))
    {
        Some(field) => Err(RegistryError::Shadows {
            actor: actor.clone(),
            intent,
            field,
        }),
        None => Ok(()),
    }
}

/// Whether an object of this schema can have the property at its top level.
fn has_property(root: &Value, schema: &Value, name: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let here = schema
        .get("properties")
        .is_some_and(|properties| properties.get(name).is_some());
    let referred = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .is_some_and(|target| has_property(root, target, name, depth));
    let combined = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|of| schema.get(of)?.as_array())
        .flatten()
        .any(|part| has_property(root, part, name, depth));
    here || referred || combined
}

/// Why an actor cannot be declared. It is found when the program starts.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The actor's name is no mailbox name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The name belongs to another actor, or to the dead-letter mailbox.
    #[error("the name {actor} is taken")]
    Taken {
        /// The name.
        actor: MailboxName,
    },
    /// Two intents of the actor, or one and an alias, have one name.
    #[error("{actor} declares the intent {intent:?} twice")]
    Twice {
        /// The actor.
        actor: MailboxName,
        /// The name.
        intent: String,
    },
    /// The payload has a field that is named like a header field.
    #[error("the payload of {intent:?} ({actor}) has a field {field:?}, which is the header's")]
    Shadows {
        /// The actor.
        actor: MailboxName,
        /// The intent.
        intent: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The payload is not a JSON object.
    #[error("the payload of {intent:?} ({actor}) is not a JSON object")]
    NotAnObject {
        /// The actor.
        actor: MailboxName,
        /// The intent.
        intent: &'static str,
    },
}
