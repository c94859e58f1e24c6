//! A message: one flat JSON object on one line, kept byte for byte.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{Digest, MailboxName, MsgId, NameError, Subject};

/// The largest message, in bytes (contract, section 3). JetStream refuses a payload of 1 MiB with
/// its headers, so this leaves room for both.
pub const MAX_MESSAGE: usize = 768 * 1024;
/// The longest sender or intent, in bytes.
const MAX_WORD: usize = 256;
/// The header's fields, which a payload may not have.
pub const HEADER_FIELDS: [&str; 4] = ["ts", "from", "intent", "msg_id"];

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Over [`MAX_MESSAGE`].
    #[error("a message of {bytes} bytes is larger than {MAX_MESSAGE}")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// More than one line.
    #[error("a message is one line, this has a line break at byte {at}")]
    LineBreak {
        /// Where.
        at: usize,
    },
    /// Not UTF-8.
    #[error("not UTF-8 after byte {}", .0.valid_up_to())]
    NotUtf8(#[source] std::str::Utf8Error),
    /// Not a JSON object with the four header fields, each once.
    #[error("not a JSON object with ts, from, intent and msg_id: {0}")]
    NotAMessage(#[source] serde_json::Error),
    /// An id outside its bounds.
    #[error("its msg_id is no id: {0}")]
    Id(#[source] NameError),
    /// A sender or intent that is empty, too long or holds control characters.
    #[error("{field} {value:?} is empty, longer than {MAX_WORD} bytes or holds control characters")]
    Word {
        /// `from` or `intent`.
        field: &'static str,
        /// What was there.
        value: String,
    },
    /// The payload given to [`Message::build`] does not serialize to a JSON object.
    #[error("a payload is a JSON object")]
    PayloadNotAnObject,
    /// The payload given to [`Message::build`] does not serialize.
    #[error("the payload does not serialize: {0}")]
    Payload(#[source] serde_json::Error),
}

/// One message (contract, section 3): a JSON object on one line, with the header `ts`, `from`,
/// `intent`, `msg_id` and, beside it at the top level, what the intent needs. The exact bytes are
/// kept. Cheap to clone.
///
/// ```
/// use mailbox::Message;
/// let line = r#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1","name":"Ada"}"#;
/// let message = Message::parse(line.as_bytes()).unwrap();
/// assert_eq!(message.intent(), "greet");
/// assert_eq!(message.line(), line);
/// assert_eq!(message.body()["name"], "Ada");
/// ```
#[derive(Clone)]
pub struct Message(Arc<Parts>);

struct Parts {
    line: Box<str>,
    /// Read from the line; of a stored message when it is first asked for.
    header: OnceLock<Header>,
}

struct Header {
    ts: DateTime<Utc>,
    from: Box<str>,
    intent: Box<str>,
    msg_id: MsgId,
}

#[derive(Deserialize)]
struct HeaderIn<'a> {
    ts: DateTime<Utc>,
    #[serde(borrow)]
    from: Cow<'a, str>,
    #[serde(borrow)]
    intent: Cow<'a, str>,
    #[serde(borrow)]
    msg_id: Cow<'a, str>,
}

#[derive(Serialize)]
struct HeaderOut<'a> {
    ts: String,
    from: &'a str,
    intent: &'a str,
    msg_id: &'a str,
}

impl Message {
    /// Reads one message. A line break at the very end is not part of it.
    ///
    /// # Errors
    /// When the bytes are too many, not one line of UTF-8, or not a JSON object with a valid header.
    pub fn parse(bytes: &[u8]) -> Result<Message, MessageError> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.len() > MAX_MESSAGE {
            return Err(MessageError::TooLarge { bytes: bytes.len() });
        }
        if let Some(at) = bytes.iter().position(|b| *b == b'\n' || *b == b'\r') {
            return Err(MessageError::LineBreak { at });
        }
        let line = std::str::from_utf8(bytes).map_err(MessageError::NotUtf8)?;
        if !line.trim_start().starts_with('{') {
            // serde would take an array for the header's fields in their order.
            let not_an_object = <serde_json::Error as serde::de::Error>::custom("expected an object");
            return Err(MessageError::NotAMessage(not_an_object));
        }
        let header = Header::read(line)?;
        Ok(Message::with(line, header.into()))
    }

    /// A line that was a message when it was stored, and is stored under a checksum. Its header is read
    /// when it is first asked for: whoever reads a million messages decodes them anyway. So the rules of
    /// [`Message::parse`] may become looser, and never stricter.
    pub(crate) fn stored(line: &str) -> Message {
        Message::with(line, OnceLock::new())
    }

    fn with(line: &str, header: OnceLock<Header>) -> Message {
        let line = line.into();
        Message(Arc::new(Parts { line, header }))
    }

    fn header(&self) -> &Header {
        let Parts { line, header } = &*self.0;
        header.get_or_init(|| Header::read(line).expect("it was a message before it was stored"))
    }

    /// Writes a message: the header first, then the payload's fields in the order in which they
    /// serialize. The payload is anything that serializes to a JSON object.
    ///
    /// # Errors
    /// When the payload is no object, has a field that is named like a header field, or the message
    /// is too large.
    ///
    /// ```
    /// use mailbox::Message;
    /// let id = "m-1".parse().unwrap();
    /// let ts = "2026-05-14T17:45:00Z".parse().unwrap();
    /// let body = serde_json::json!({"name": "Ada"});
    /// let message = Message::build(ts, "lab", "greet", &id, &body).unwrap();
    /// assert_eq!(
    ///     message.line(),
    ///     r#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1","name":"Ada"}"#
    /// );
    /// ```
    pub fn build(
        ts: DateTime<Utc>,
        from: &str,
        intent: &str,
        msg_id: &MsgId,
        body: impl Serialize,
    ) -> Result<Message, MessageError> {
        let header = HeaderOut {
            ts: ts.to_rfc3339_opts(SecondsFormat::AutoSi, true),
            from,
            intent,
            msg_id: msg_id.as_str(),
        };
        let mut line = serde_json::to_string(&header).map_err(MessageError::Payload)?;
        let body = serde_json::to_string(&body).map_err(MessageError::Payload)?;
        let fields = body.strip_prefix('{').ok_or(MessageError::PayloadNotAnObject)?;
        if fields != "}" {
            line.pop();
            line.push(',');
            line.push_str(fields);
        }
        Message::parse(line.as_bytes())
    }

    /// When the sender says that it sent it.
    pub fn ts(&self) -> DateTime<Utc> {
        self.header().ts
    }

    /// Who sent it.
    pub fn from(&self) -> &str {
        &self.header().from
    }

    /// What the receiver is asked to do.
    pub fn intent(&self) -> &str {
        &self.header().intent
    }

    /// Its id.
    pub fn msg_id(&self) -> &MsgId {
        &self.header().msg_id
    }

    /// The exact line, without a line break.
    pub fn line(&self) -> &str {
        &self.0.line
    }

    /// The payload: every field but the header's.
    pub fn body(&self) -> serde_json::Map<String, Value> {
        let mut fields: serde_json::Map<String, Value> = match serde_json::from_str(&self.0.line) {
            Ok(Value::Object(fields)) => fields,
            // The line was parsed when the message was made. A number that a `Value` cannot hold
            // is the one thing that gets here; the typed payload still reads it.
            _ => serde_json::Map::new(),
        };
        for field in HEADER_FIELDS {
            fields.remove(field);
        }
        fields
    }
}

impl Header {
    fn read(line: &str) -> Result<Header, MessageError> {
        let header: HeaderIn<'_> = serde_json::from_str(line).map_err(MessageError::NotAMessage)?;
        Ok(Header {
            ts: header.ts,
            from: word("from", &header.from)?,
            intent: word("intent", &header.intent)?,
            msg_id: header.msg_id.parse().map_err(MessageError::Id)?,
        })
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        self.line() == other.line()
    }
}

impl Eq for Message {}

fn word(field: &'static str, value: &str) -> Result<Box<str>, MessageError> {
    if value.is_empty() || value.len() > MAX_WORD || value.chars().any(char::is_control) {
        return Err(MessageError::Word {
            field,
            value: value.chars().take(MAX_WORD).collect(),
        });
    }
    Ok(value.into())
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({})", self.line())
    }
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.line())
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        let line = Cow::<'de, str>::deserialize(deserializer)?;
        Message::parse(line.as_bytes()).map_err(serde::de::Error::custom)
    }
}

/// A message on its way into a mailbox, with what the intent declares about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The mailbox it goes to.
    pub to: MailboxName,
    /// The message.
    pub message: Message,
    /// What it is about, where its intent asks for newest-first (contract, section 3, rule 7).
    pub subject: Option<Subject>,
    /// The digest of its evidence fields, where its intent declares any.
    pub evidence: Option<Digest>,
    /// The message that led to it.
    pub cause: Option<MsgId>,
}

impl Draft {
    /// A draft without subject, evidence or cause.
    pub fn new(to: MailboxName, message: Message) -> Draft {
        Draft {
            to,
            message,
            subject: None,
            evidence: None,
            cause: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"ts":"2026-05-14T17:45:00Z","from":"a","intent":"b","msg_id":"c","n":1}"#;

    #[test]
    fn what_is_a_message_and_what_is_not() {
        let check = |text: &str, fault: Option<&str>| {
            let got = Message::parse(text.as_bytes())
                .err()
                .map(|error| error.to_string());
            match (got, fault) {
                (None, None) => {}
                (Some(got), Some(fault)) => assert!(got.contains(fault), "{text}: {got}"),
                (got, fault) => panic!("{text}: {got:?} instead of {fault:?}"),
            }
        };
        check(GOOD, None);
        check(&format!("{GOOD}\n"), None);
        check(&format!("{GOOD}\r\n"), None);
        check(&format!("  {GOOD} "), None);
        check(
            r#"{"n":{"deep":[1,2]},"msg_id":"c","intent":"b","from":"a","ts":"2026-05-14T17:45:00+02:00"}"#,
            None,
        );
        check(&format!("{GOOD}\n{GOOD}"), Some("line break at byte 72"));
        check("", Some("expected an object"));
        check("[]", Some("expected an object"));
        check(
            r#"["2026-05-14T17:45:00Z","a","b","c"]"#,
            Some("expected an object"),
        );
        check("null", Some("expected an object"));
        check("{", Some("EOF"));
        check(&format!("{GOOD} x"), Some("trailing characters"));
        check(
            r#"{"ts":"2026-05-14T17:45:00Z","from":"a","intent":"b"}"#,
            Some("missing field `msg_id`"),
        );
        check(
            r#"{"ts":"today","from":"a","intent":"b","msg_id":"c"}"#,
            Some("ts, from, intent"),
        );
        check(
            &GOOD.replace("\"n\":1", "\"from\":\"z\""),
            Some("duplicate field `from`"),
        );
        check(&GOOD.replace("\"c\"", "\"\""), Some("msg_id"));
        check(&GOOD.replace("\"c\"", "\"a\\nb\""), Some("control characters"));
        check(&GOOD.replace("\"b\"", "\"\""), Some("intent \"\""));
        check(&GOOD.replace("\"n\":1", "\"n\":01"), Some("invalid number"));
    }

    #[test]
    fn not_utf8_is_refused() {
        let error = Message::parse(b"{\"ts\":\"\xff\"}").unwrap_err();
        assert_eq!(error.to_string(), "not UTF-8 after byte 7");
    }

    #[test]
    fn the_size_limit_is_exact() {
        let sized = |len: usize| {
            let empty = GOOD.replace("\"n\":1", "\"n\":\"\"");
            GOOD.replace("\"n\":1", &format!("\"n\":\"{}\"", "x".repeat(len - empty.len())))
        };
        assert!(Message::parse(sized(MAX_MESSAGE).as_bytes()).is_ok());
        let error = Message::parse(sized(MAX_MESSAGE + 1).as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a message of 786433 bytes is larger than 786432"
        );
    }

    #[test]
    fn a_payload_cannot_shadow_the_header() {
        let id: MsgId = "c".parse().unwrap();
        let build = |body: Value| Message::build(Utc::now(), "a", "b", &id, body);
        assert!(build(serde_json::json!({})).is_ok());
        assert!(build(serde_json::json!({"ts": 1})).is_err());
        assert!(matches!(
            build(serde_json::json!([1])),
            Err(MessageError::PayloadNotAnObject)
        ));
        assert!(matches!(
            build(Value::Null),
            Err(MessageError::PayloadNotAnObject)
        ));
    }

    #[test]
    fn a_built_message_reads_back() {
        #[derive(Serialize)]
        struct Ask {
            zeta: u8,
            alpha: u128,
        }
        let id: MsgId = "quote\"d".parse().unwrap();
        let ts: DateTime<Utc> = "2026-05-14T17:45:00.5Z".parse().unwrap();
        let message = Message::build(
            ts,
            "a",
            "b",
            &id,
            Ask {
                zeta: 1,
                alpha: u128::MAX,
            },
        )
        .unwrap();
        assert_eq!(
            message.line(),
            r#"{"ts":"2026-05-14T17:45:00.500Z","from":"a","intent":"b","msg_id":"quote\"d","zeta":1,"alpha":340282366920938463463374607431768211455}"#
        );
        assert_eq!(message.msg_id(), &id);
        assert_eq!(message.ts(), ts);
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
