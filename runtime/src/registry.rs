//! Who consumes what: every declared actor, hosted here or not.

mod declaration;

use std::collections::BTreeMap;

use mailbox::{Draft, MailboxName};
use schemars::Schema;

use crate::message::{About, DecodeError};
use crate::{Actor, External};

use declaration::Declaration;
pub use declaration::{HandledBy, RegistryError};

/// Every declared actor with the intents that it consumes (contract, section 3, "Routing is by declared intent").
///
/// ```
/// # use runtime::{Registry, Routed};
/// let mut registry = Registry::new();
/// registry.external("notes".parse()?, ["remember"])?;
/// assert_eq!(registry.route("remember"), Routed::To(vec!["notes".parse()?]));
/// assert_eq!(registry.route("forget"), Routed::Nobody);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    actors: BTreeMap<MailboxName, Declaration>,
}

/// Where a message of an intent goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed {
    /// To each actor that declares the intent, by name.
    To(Vec<MailboxName>),
    /// Nobody declares the intent: to the dead-letter mailbox.
    Nobody,
}

impl Routed {
    /// The mailboxes that get a copy; the dead-letter mailbox where nobody declares the intent.
    pub fn mailboxes(self) -> Vec<MailboxName> {
        match self {
            Self::To(actors) => actors,
            Self::Nobody => vec![MailboxName::dead_letter()],
        }
    }
}

impl Registry {
    /// A registry in which nobody is declared.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares an actor that is a Rust type. Declaring the same type again changes nothing.
    ///
    /// # Errors
    ///
    /// When the name is none or is taken, an intent is declared twice, or a payload cannot stand beside the
    /// header.
    pub fn declare<A: Actor>(&mut self) -> Result<&mut Self, RegistryError> {
        let name: MailboxName = A::NAME.parse()?;
        let declaration = Declaration::of::<A>(&name)?;
        self.insert(name, declaration)
    }

    /// Declares an actor that lives elsewhere (a script, a person, another process) by the intents that it
    /// consumes. What their payloads are is not checked.
    ///
    /// # Errors
    ///
    /// When the name is taken, or an intent is declared twice.
    pub fn external<I: Into<String>>(
        &mut self,
        name: MailboxName,
        intents: impl IntoIterator<Item = I>,
    ) -> Result<&mut Self, RegistryError> {
        self.declare_external(&External::pulled(name, intents))
    }

    /// Declares an actor that is no Rust type. Declaring the same one again changes nothing.
    ///
    /// # Errors
    ///
    /// As for [`Registry::external`].
    pub fn declare_external(&mut self, external: &External) -> Result<&mut Self, RegistryError> {
        self.insert(external.name.clone(), Declaration::external(external)?)
    }

    fn insert(&mut self, name: MailboxName, declaration: Declaration) -> Result<&mut Self, RegistryError> {
        if self
            .actors
            .get(&name)
            .is_some_and(|known| known.repeats(&declaration))
        {
            return Ok(self);
        }
        if name == MailboxName::dead_letter() || self.actors.contains_key(&name) {
            return Err(RegistryError::Taken { actor: name });
        }
        self.actors.insert(name, declaration);
        Ok(self)
    }

    /// Every declared actor, by name.
    pub fn actors(&self) -> impl Iterator<Item = &MailboxName> {
        self.actors.keys()
    }

    /// The intents that an actor consumes, in the order of its declaration; `None` for an actor that is not
    /// declared.
    pub fn intents(&self, actor: &MailboxName) -> Option<Vec<&str>> {
        self.actors.get(actor).map(Declaration::intents)
    }

    /// Whether an actor is a Rust type, rather than one that lives elsewhere.
    pub fn is_typed(&self, actor: &MailboxName) -> bool {
        self.handled_by(actor) == Some(HandledBy::Type)
    }

    /// Who handles an actor's messages; `None` for an actor that is not declared.
    pub fn handled_by(&self, actor: &MailboxName) -> Option<HandledBy> {
        self.actors.get(actor).map(Declaration::handled_by)
    }

    /// The mailboxes that declared actors need. An actor that consumes nothing (it has only a takt) has none.
    pub fn mailboxes(&self) -> impl Iterator<Item = &MailboxName> {
        self.actors
            .keys()
            .filter(|name| self.intents(name).is_some_and(|intents| !intents.is_empty()))
    }

    /// The JSON Schema of an intent's payload, where the actor is a Rust type that declares it.
    pub fn schema(&self, actor: &MailboxName, intent: &str) -> Option<&Schema> {
        self.actors.get(actor)?.schema(intent)
    }

    /// Who gets a message of this intent.
    pub fn route(&self, intent: &str) -> Routed {
        let actors: Vec<_> = self
            .actors
            .iter()
            .filter(|(_, declaration)| declaration.consumes(intent))
            .map(|(name, _)| name.clone())
            .collect();
        if actors.is_empty() {
            Routed::Nobody
        } else {
            Routed::To(actors)
        }
    }

    /// What a raw message to an actor is about. Of a message to an actor that is no Rust type only that is known
    /// which the intent says of itself, where another actor declares it as a type.
    ///
    /// # Errors
    ///
    /// When the actor is not declared, does not declare the intent, or the payload is not the intent's.
    pub fn describe(&self, actor: &MailboxName, message: &mailbox::Message) -> Result<About, Refused> {
        let declaration = self
            .actors
            .get(actor)
            .ok_or_else(|| Refused::NoSuchActor { actor: actor.clone() })?;
        if declaration.intents().is_empty() {
            return Err(Refused::ConsumesNothing { actor: actor.clone() });
        }
        if !declaration.consumes(message.intent()) {
            return Err(Refused::Undeclared {
                actor: actor.clone(),
                intent: message.intent().to_owned(),
                declared: declaration.intents().join(", "),
            });
        }
        match declaration.about(message) {
            Some(about) => about.map_err(|source| Refused::Payload {
                actor: actor.clone(),
                source,
            }),
            None => Ok(self.about_elsewhere(message)),
        }
    }

    /// What a message is about, if a type of its intent is declared at all and can read it.
    fn about_elsewhere(&self, message: &mailbox::Message) -> About {
        let mut typed = self
            .actors
            .values()
            .filter_map(|declaration| declaration.about(message));
        typed.next().and_then(Result::ok).unwrap_or_default()
    }

    /// Takes a message from outside the program for an actor's mailbox.
    ///
    /// # Errors
    ///
    /// As for [`Registry::describe`].
    pub fn accept(&self, actor: &MailboxName, message: mailbox::Message) -> Result<Draft, Refused> {
        let About { subject, evidence } = self.describe(actor, &message)?;
        Ok(Draft {
            subject,
            evidence,
            ..Draft::new(actor.clone(), message)
        })
    }
}

/// Why a message from outside was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Nobody of that name is declared.
    #[error("there is no actor {actor}")]
    NoSuchActor {
        /// The name.
        actor: MailboxName,
    },
    /// The actor has no mailbox.
    #[error("{actor} consumes no messages: it has only its own tick")]
    ConsumesNothing {
        /// The actor.
        actor: MailboxName,
    },
    /// The actor does not consume the intent.
    #[error("{actor} does not declare the intent {intent:?}; it declares {declared}")]
    Undeclared {
        /// The actor.
        actor: MailboxName,
        /// The message's intent.
        intent: String,
        /// What it consumes, with commas between.
        declared: String,
    },
    /// The payload is not the intent's.
    #[error("{actor} cannot read the message")]
    Payload {
        /// The actor.
        actor: MailboxName,
        /// What is wrong with it.
        source: DecodeError,
    },
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::actor::chain;
    use crate::{Done, Fault, Intent, Turn, message};

    /// Declares an actor of one intent, or of two.
    macro_rules! actor {
        ($actor:ident, $name:literal, $message:ident { $($payload:ident),* }) => {
            message! {
                #[expect(dead_code, reason = "these actors are declared, and handle nothing")]
                enum $message { $($payload($payload)),* }
            }
            struct $actor;
            impl Actor for $actor {
                const NAME: &'static str = $name;
                type Message = $message;
                async fn handle(&mut self, _: $message, _: &mut Turn) -> Result<Done, Fault> {
                    Ok(Done::new("done"))
                }
            }
        };
    }
    macro_rules! intent {
        ($payload:ident, $name:literal, $aliases:expr) => {
            impl Intent for $payload {
                const NAME: &'static str = $name;
                const ALIASES: &'static [&'static str] = $aliases;
            }
        };
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Test {
        repo: String,
    }
    impl Intent for Test {
        const NAME: &'static str = "test";
        const ALIASES: &'static [&'static str] = &["check"];
        fn subject(&self) -> Option<mailbox::Subject> {
            self.repo.parse().ok()
        }
    }
    actor!(Tester, "tester", TesterMessage { Test });
    actor!(Auditor, "auditor", AuditorMessage { Test });
    actor!(Impostor, "tester", ImpostorMessage { Test });
    actor!(Doubled, "doubled", DoubledMessage { Test, Check });
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Check {}
    intent!(Check, "check", &[]);

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Plain {
        #[serde(rename = "msg_id")]
        number: u8,
    }
    intent!(Plain, "plain", &[]);
    actor!(Shadowing, "shadowing", ShadowingMessage { Plain });
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Either {
        One { a: u8 },
        Other { from: String },
    }
    intent!(Either, "either", &[]);
    actor!(ShadowingDeep, "deep", DeepMessage { Either });
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Text(String);
    intent!(Text, "text", &[]);
    actor!(NoObject, "text", NoObjectMessage { Text });

    fn name(text: &str) -> MailboxName {
        text.parse().unwrap()
    }

    fn declared() -> Registry {
        let mut registry = Registry::new();
        registry
            .declare::<Tester>()
            .unwrap()
            .declare::<Auditor>()
            .unwrap();
        registry.external(name("notes"), ["remember"]).unwrap();
        registry
    }

    fn raw(intent: &str, payload: &str) -> mailbox::Message {
        let line = format!(
            r#"{{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"{intent}","msg_id":"m"{payload}}}"#
        );
        mailbox::Message::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn an_intent_goes_to_everyone_who_declares_it() {
        let registry = declared();
        let check = |intent: &str, to: Routed| assert_eq!(registry.route(intent), to, "{intent}");
        check("test", Routed::To(vec![name("auditor"), name("tester")]));
        check("check", Routed::To(vec![name("auditor"), name("tester")]));
        check("remember", Routed::To(vec![name("notes")]));
        check("sing", Routed::Nobody);
        assert_eq!(registry.route("sing").mailboxes(), [MailboxName::dead_letter()]);
    }

    #[test]
    fn a_wrong_declaration_is_refused_at_the_start() {
        fn check<A: Actor>(text: &str) {
            let refused = declared().declare::<A>().map(drop).unwrap_err();
            assert_eq!(refused.to_string(), text);
        }
        check::<Impostor>("the name tester is taken");
        check::<Doubled>(r#"doubled declares the intent "check" twice"#);
        check::<Shadowing>(
            r#"the payload of "plain" (shadowing) has a field "msg_id", which is the header's"#,
        );
        check::<ShadowingDeep>(r#"the payload of "either" (deep) has a field "from", which is the header's"#);
        check::<NoObject>(r#"the payload of "text" (text) is not a JSON object"#);
        assert!(
            declared().declare::<Tester>().is_ok(),
            "the same type again changes nothing"
        );
        assert!(declared().external(MailboxName::dead_letter(), ["x"]).is_err());
    }

    #[test]
    fn a_raw_message_is_taken_with_what_its_intent_says_of_it() {
        let draft = declared()
            .accept(&name("tester"), raw("check", r#","repo":"o/r""#))
            .unwrap();
        assert_eq!(draft.subject.unwrap().as_str(), "o/r");
        let draft = declared()
            .accept(&name("notes"), raw("remember", r#","anything":1"#))
            .unwrap();
        assert_eq!((draft.to, draft.subject), (name("notes"), None));
    }

    #[test]
    fn an_actor_without_a_type_is_told_what_a_declared_type_says_of_the_message() {
        let mut registry = declared();
        registry.external(name("desk"), ["test"]).unwrap();
        let subject = |payload: &str| {
            let draft = registry.accept(&name("desk"), raw("test", payload)).unwrap();
            draft.subject.map(|subject| subject.as_str().to_owned())
        };
        assert_eq!(subject(r#","repo":"o/r""#).as_deref(), Some("o/r"));
        assert_eq!(subject(r#","repo":7"#), None);
    }

    #[test]
    fn who_handles_what_is_known() {
        let mut registry = declared();
        let script = External::program(name("script"), ["run"], ["true"]);
        registry
            .declare_external(&script)
            .unwrap()
            .declare_external(&script)
            .unwrap();
        let pulled = External::pulled(name("script"), ["run"]);
        assert!(matches!(
            registry.declare_external(&pulled),
            Err(RegistryError::Taken { .. })
        ));
        let by = |actor: &str| registry.handled_by(&name(actor));
        assert_eq!(by("tester"), Some(HandledBy::Type));
        assert_eq!(by("notes"), Some(HandledBy::Pull));
        assert_eq!(by("script"), Some(HandledBy::Program));
        assert_eq!(by("nobody"), None);
    }

    #[test]
    fn what_the_actor_does_not_consume_is_refused_by_name() {
        let check = |actor: &str, message, text: &str| {
            assert_eq!(
                chain(&declared().accept(&name(actor), message).unwrap_err()),
                text
            );
        };
        check("nobody", raw("test", ""), "there is no actor nobody");
        check(
            "tester",
            raw("sing", ""),
            r#"tester does not declare the intent "sing"; it declares test"#,
        );
        check(
            "notes",
            raw("test", ""),
            r#"notes does not declare the intent "test"; it declares remember"#,
        );
        check(
            "tester",
            raw("test", r#","repo":7"#),
            r#"tester cannot read the message: the payload is none of "test": invalid type: integer `7`, expected a string at line 1 column 9"#,
        );
    }

    #[test]
    fn an_actor_with_a_tick_alone_consumes_nothing() {
        message! {
            enum NothingMessage {}
        }
        struct Ticking;
        impl Actor for Ticking {
            const NAME: &'static str = "ticking";
            type Message = NothingMessage;
            async fn handle(&mut self, message: NothingMessage, _: &mut Turn) -> Result<Done, Fault> {
                match message {}
            }
        }
        let mut registry = declared();
        registry.declare::<Ticking>().unwrap();
        let refused = registry.accept(&name("ticking"), raw("test", "")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "ticking consumes no messages: it has only its own tick"
        );
        assert!(registry.mailboxes().all(|mailbox| *mailbox != name("ticking")));
    }

    #[test]
    fn schemas_are_kept_by_intent() {
        let registry = declared();
        let schema = registry.schema(&name("tester"), "check").unwrap();
        assert_eq!(schema.as_value()["properties"]["repo"]["type"], "string");
        assert!(registry.schema(&name("notes"), "remember").is_none());
    }
}
