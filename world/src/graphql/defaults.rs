//! What a field answers that neither the graph nor a rule has a value for.

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::schema::ExtendedType;
use serde_json::Value;

use super::resolve::Thing;
use crate::graph::{SITE, stamp};

/// Null where the schema allows it, else a plain value of the type. An object that may not be null and
/// is not there is an error, since there is nothing plain to say.
pub(crate) fn field<'a>(
    thing: &'a Thing<'_>,
    info: &'a ResolveInfo<'a>,
) -> Result<ResolvedValue<'a>, FieldError> {
    let definition = info.field_definition();
    let session = thing.session;
    if !definition.ty.is_non_null() {
        return Ok(ResolvedValue::null());
    }
    if definition.ty.is_list() {
        return Ok(ResolvedValue::list([]));
    }
    let name = definition.ty.inner_named_type().as_str();
    Ok(match session.schema.types.get(name) {
        Some(ExtendedType::Enum(def)) => {
            let word = PLAIN_WORDS
                .iter()
                .find(|(ty, _)| *ty == name)
                .map(|(_, word)| *word);
            match word.or_else(|| def.values.keys().next().map(|word| word.as_str())) {
                Some(word) => ResolvedValue::leaf(word),
                None => return Err(thing.unknown_field_error(info)),
            }
        }
        Some(ExtendedType::Scalar(_)) => match (name, info.field_name()) {
            ("Boolean", _) => ResolvedValue::leaf(false),
            ("Int", _) => ResolvedValue::leaf(0),
            ("DateTime", _) => match thing
                .json
                .get("createdAt")
                .or_else(|| thing.root.get("createdAt"))
            {
                Some(at) => session.complete(at, thing.root, &definition.ty)?,
                None => ResolvedValue::leaf(stamp(session.world.now())),
            },
            ("URI", field) => ResolvedValue::leaf(address(thing, field)),
            ("GitObjectID", _) => ResolvedValue::leaf("0".repeat(40)),
            ("ID", _) => ResolvedValue::leaf(format!("{}_{}", thing.ty, thing.text("login"))),
            _ => ResolvedValue::leaf(""),
        },
        _ => return Err(thing.unknown_field_error(info)),
    })
}

/// The everyday word of each enum that a field may hold without anybody having set it.
const PLAIN_WORDS: [(&str, &str); 12] = [
    ("CommentAuthorAssociation", "NONE"),
    ("DiffSide", "RIGHT"),
    ("FileViewedState", "UNVIEWED"),
    ("MergeStateStatus", "UNKNOWN"),
    ("MergeQueueEntryState", "QUEUED"),
    ("MergeableState", "UNKNOWN"),
    ("PatchStatus", "MODIFIED"),
    ("PullRequestMergeMethod", "MERGE"),
    ("PullRequestReviewCommentState", "SUBMITTED"),
    ("PullRequestReviewThreadSubjectType", "LINE"),
    ("RepositoryVisibility", "PUBLIC"),
    ("WorkflowState", "ACTIVE"),
];

fn address(thing: &Thing<'_>, field: &str) -> String {
    let url = match (thing.text("url"), thing.root.get("url").and_then(Value::as_str)) {
        ("", Some(root)) => root,
        ("", None) => SITE,
        (own, _) => own,
    };
    match field {
        "resourcePath" => url.strip_prefix(SITE).unwrap_or(url).to_owned(),
        "checksResourcePath" => format!("{}/checks", url.strip_prefix(SITE).unwrap_or(url)),
        "avatarUrl" => format!("{SITE}/avatars/{}", thing.text("login")),
        _ => url.to_owned(),
    }
}
