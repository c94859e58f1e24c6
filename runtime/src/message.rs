//! Typed messages: an intent is a payload type, an actor's messages are one enum over the intents it consumes.

use std::fmt;

use mailbox::{Digest, HEADER_FIELDS, Subject};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One thing that a receiver can be asked to do, with what it needs to know for it.
///
/// The payload serializes to a JSON object, whose fields stand beside the header's in the message; so none of
/// them may be named like a header field (`ts`, `from`, `intent`, `msg_id`), which is refused when the program
/// starts. The type belongs to the intent: several actors may consume one.
pub trait Intent: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// The verb, as the message's `intent` field has it.
    const NAME: &'static str;

    /// Earlier names of it: a message under one of them still decodes.
    const ALIASES: &'static [&'static str] = &[];

    /// What the message is about. Where there is a subject, only the newest message of it is handled, and one
    /// with known evidence is not handled again (contract, section 3, rule 7).
    fn subject(&self) -> Option<Subject> {
        None
    }

    /// The digest of the evidence that the sender saw, without ages or counts. It means nothing without a
    /// subject.
    fn evidence(&self) -> Option<Digest> {
        None
    }
}

/// The messages of one actor. [`message!`](crate::message) implements it.
pub trait Message: Sized + Send + 'static {
    /// The intents that the actor consumes.
    fn intents() -> Vec<IntentDeclaration>;

    /// Reads a message.
    ///
    /// # Errors
    ///
    /// When the intent is not among them, or the payload is not the intent's.
    fn decode(body: &Body<'_>) -> Result<Self, DecodeError>;
}

/// A receiver's messages include this intent. [`message!`](crate::message) implements it for each intent, so that
/// [`Turn::tell`](crate::Turn::tell) compiles for these and for no other.
pub trait Consumes<I: Intent>: Message {}

/// Writes an actor's messages: one enum over the intents that it consumes.
///
/// ```
/// use runtime::{Intent, Message, message};
///
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     name: String,
/// }
/// impl Intent for Greet {
///     const NAME: &'static str = "greet";
/// }
///
/// message! {
///     /// What a greeter is asked to do.
///     pub enum GreeterMessage {
///         Greet(Greet),
///     }
/// }
///
/// assert_eq!(GreeterMessage::intents()[0].name(), "greet");
/// ```
///
/// An actor that has only a takt consumes nothing: `message! { enum Nothing {} }`.
#[macro_export]
macro_rules! message {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$about_variant:meta])* $variant:ident($payload:ty)),* $(,)?
        }
    ) => {
        $(#[$about])*
        $visibility enum $name {
            $(
                $(#[$about_variant])*
                #[doc = concat!("A message whose payload is [`", stringify!($payload), "`].")]
                $variant($payload)
            ),*
        }

        impl $crate::Message for $name {
            fn intents() -> ::std::vec::Vec<$crate::IntentDeclaration> {
                ::std::vec![$($crate::IntentDeclaration::of::<$payload>()),*]
            }

            fn decode(body: &$crate::Body<'_>) -> ::std::result::Result<Self, $crate::DecodeError> {
                $(
                    if body.is::<$payload>() {
                        return body.decode::<$payload>().map(Self::$variant);
                    }
                )*
                ::std::result::Result::Err(body.undeclared())
            }
        }

        $(impl $crate::Consumes<$payload> for $name {})*
    };
}

/// What an intent declares, without its type.
#[derive(Clone, Copy)]
pub struct IntentDeclaration {
    name: &'static str,
    aliases: &'static [&'static str],
    schema: fn() -> Schema,
    about: fn(&Body<'_>) -> Result<About, DecodeError>,
}

impl IntentDeclaration {
    /// The declaration of an intent.
    pub fn of<I: Intent>() -> Self {
        Self {
            name: I::NAME,
            aliases: I::ALIASES,
            schema: || SchemaGenerator::default().into_root_schema_for::<I>(),
            about: |body| body.decode::<I>().map(|payload| About::of(&payload)),
        }
    }

    /// The verb.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its earlier names.
    pub fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    /// The JSON Schema of its payload.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// What a raw message of this intent is about.
    ///
    /// # Errors
    ///
    /// When the payload is not the intent's.
    pub fn about(&self, body: &Body<'_>) -> Result<About, DecodeError> {
        (self.about)(body)
    }

    /// Whether a message with this verb is meant.
    pub fn answers_to(&self, verb: &str) -> bool {
        answers_to(self.name, self.aliases, verb)
    }
}

impl fmt::Debug for IntentDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntentDeclaration")
            .field("name", &self.name)
            .field("aliases", &self.aliases)
            .finish()
    }
}

fn answers_to(name: &str, aliases: &[&str], verb: &str) -> bool {
    name == verb || aliases.contains(&verb)
}

/// What a message says of itself beyond its payload: see [`Intent::subject`] and [`Intent::evidence`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What the message is about.
    pub subject: Option<Subject>,
    /// The digest of the evidence that its sender saw.
    pub evidence: Option<Digest>,
}

impl About {
    pub(crate) fn of<I: Intent>(payload: &I) -> Self {
        Self {
            subject: payload.subject(),
            evidence: payload.evidence(),
        }
    }
}

/// A message's payload, apart from its header and not yet decoded.
///
/// The header's fields are cut out of the text before the payload is read, so that a payload type sees exactly
/// what it wrote: 128-bit numbers, raw JSON and maps with integer keys included.
#[derive(Debug)]
pub struct Body<'m> {
    intent: &'m str,
    payload: String,
}

impl<'m> Body<'m> {
    /// The payload of a message.
    pub fn of(message: &'m mailbox::Message) -> Self {
        let fields: Fields<'_> = serde_json::from_str(message.line())
            .expect("a message is a JSON object: its making checked that");
        let mut payload = String::with_capacity(message.line().len());
        payload.push('{');
        for (name, value) in fields
            .0
            .iter()
            .filter(|(name, _)| !HEADER_FIELDS.contains(&name.as_str()))
        {
            if payload.len() > 1 {
                payload.push(',');
            }
            payload.push_str(&serde_json::Value::from(name.as_str()).to_string());
            payload.push(':');
            payload.push_str(value.get());
        }
        payload.push('}');
        Self {
            intent: message.intent(),
            payload,
        }
    }

    /// The message's verb.
    pub fn intent(&self) -> &str {
        self.intent
    }

    /// Whether the message is of this intent.
    pub fn is<I: Intent>(&self) -> bool {
        answers_to(I::NAME, I::ALIASES, self.intent)
    }

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// When it is not the intent's.
    pub fn decode<I: Intent>(&self) -> Result<I, DecodeError> {
        serde_json::from_str(&self.payload).map_err(|source| DecodeError::Payload {
            intent: self.intent.to_owned(),
            source,
        })
    }

    /// The error for a verb that is not declared.
    pub fn undeclared(&self) -> DecodeError {
        DecodeError::Undeclared {
            intent: self.intent.to_owned(),
        }
    }
}

/// Why a message is not one of an actor's.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The actor does not declare the intent.
    #[error("the intent {intent:?} is not declared")]
    Undeclared {
        /// The message's verb.
        intent: String,
    },
    /// The payload is not the intent's.
    #[error("the payload is none of {intent:?}")]
    Payload {
        /// The message's verb.
        intent: String,
        /// What serde found.
        source: serde_json::Error,
    },
}

/// An object's fields in their order, repeats included, each value as it stands in the text.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Awkward {
        wide: u128,
        by_number: BTreeMap<u32, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<u8>,
    }
    impl Intent for Awkward {
        const NAME: &'static str = "measure";
        const ALIASES: &'static [&'static str] = &["gauge"];
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Stop {}
    impl Intent for Stop {
        const NAME: &'static str = "stop";
    }

    message! {
        #[derive(Debug, PartialEq)]
        enum Both { Awkward(Awkward), Stop(Stop) }
    }

    fn read(intent: &str, payload: &str) -> Result<Both, DecodeError> {
        let line = format!(
            r#"{{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"{intent}","msg_id":"m"{payload}}}"#
        );
        Both::decode(&Body::of(&mailbox::Message::parse(line.as_bytes()).unwrap()))
    }

    #[test]
    fn a_payload_comes_back_as_it_was_written() {
        let payload = Awkward {
            wide: u128::MAX,
            by_number: BTreeMap::from([(7, "x".into())]),
            note: None,
        };
        let id = "m-1".parse().unwrap();
        let ts = "2026-05-14T17:45:00Z".parse().unwrap();
        let message = mailbox::Message::build(ts, "t", Awkward::NAME, &id, &payload).unwrap();
        assert_eq!(Both::decode(&Body::of(&message)).unwrap(), Both::Awkward(payload));
    }

    #[test]
    fn the_header_is_no_part_of_the_payload() {
        // `deny_unknown_fields` would refuse it.
        let read = read("measure", r#","wide":1,"by_number":{}"#).unwrap();
        assert_eq!(
            read,
            Both::Awkward(Awkward {
                wide: 1,
                by_number: BTreeMap::new(),
                note: None
            })
        );
    }

    #[test]
    fn an_earlier_name_still_decodes() {
        assert!(matches!(
            read("gauge", r#","wide":1,"by_number":{}"#),
            Ok(Both::Awkward(_))
        ));
    }

    #[test]
    fn what_is_no_message_of_the_actor_is_refused() {
        let check = |intent: &str, payload: &str, text: &str| {
            let error = read(intent, payload).unwrap_err();
            assert_eq!(crate::actor::chain(&error), text);
        };
        check("sing", "", r#"the intent "sing" is not declared"#);
        check(
            "measure",
            r#","by_number":{}"#,
            r#"the payload is none of "measure": missing field `wide` at line 1 column 16"#,
        );
        check(
            "measure",
            r#","wide":1,"by_number":{},"note":"x""#,
            r#"the payload is none of "measure": invalid type: string "x", expected u8 at line 1 column 35"#,
        );
        check(
            "measure",
            r#","wide":1,"wide":2,"by_number":{}"#,
            r#"the payload is none of "measure": duplicate field `wide` at line 1 column 16"#,
        );
    }

    #[test]
    fn an_intent_without_fields_is_an_empty_object() {
        assert_eq!(read("stop", "").unwrap(), Both::Stop(Stop {}));
    }
}
