//! `[lifecycle]`: the maintainer's half (contract, section 6, "Settings"). Each setting has its name of the RFC as a
//! variable of the environment and, in small letters, as a key; the variable goes before the key.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use chrono::{NaiveTime, TimeDelta};
use chrono_tz::Tz;
use lifecycle::maintain::{AutoReview, LabelRule, Owner, OwnerRule, Settings, Signal, Switches, Taxonomy};
use pulls::people::People;
use pulls::{Login, RepoName};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::PrState;
use super::error::ConfigError;
use super::reader::{Reader, Section};
use super::value::{List, Quoted};
use super::{LONGEST, SHORTEST};
use crate::duration::Span;

/// The maintainer's half.
#[derive(Debug)]
pub struct Lifecycle {
    /// How often `sweep run` looks.
    pub every: Span,
    /// `LIFECYCLE_REPOS`: the repositories whose pull requests are maintained.
    pub repos: BTreeSet<RepoName>,
    /// `PR_STATE_ENABLED`: whether their states are recorded.
    pub is_on: bool,
    /// `PR_STATE_REQUEST_BUDGET`: the most requests of a cycle.
    pub request_budget: u32,
    /// What decides states, and what is wanted in them.
    pub settings: Settings,
}

/// The most requests of a cycle: above the hourly limit of any GitHub, and what is more is a slip.
const MOST_REQUESTS: u32 = 20_000;

/// The most writes of a cycle. GitHub's own limit is 80 pieces of content a minute.
const MOST_WRITES: u32 = 1_000;

/// The most reviews of a night.
const MOST_REVIEWS: u32 = 10_000;

/// The most old pull requests of a night (RFC, "Nightly sweep").
const MOST_BACKFILL: u32 = 10;

/// The longest clock, in days.
const MOST_DAYS: u32 = 3_650;

impl Lifecycle {
    pub(super) fn read<'t>(
        reader: &mut Reader<'t>,
        root: &mut Section<'t>,
        pr_state: &PrState,
    ) -> Result<Self, ConfigError> {
        let mut section = reader.section(root, "lifecycle")?;
        // The RFC names no variable for it, and EVERY would be anybody's.
        let every = reader.bounded(&mut section, "every", Span::seconds(120), SHORTEST..=LONGEST)?;
        section.has_variables();
        let repos = reader.value(&mut section, "lifecycle_repos", BTreeSet::new())?;
        let is_on = reader.value(&mut section, "pr_state_enabled", true)?;
        let request_budget =
            reader.bounded(&mut section, "pr_state_request_budget", 200, 0..=MOST_REQUESTS)?;
        reader.bounded(&mut section, "pr_state_write_budget", 10, 0..=MOST_WRITES)?;
        let days = Days::read(reader, &mut section)?;
        let exempt_labels = reader.value(&mut section, "stale_exempt_labels", BTreeSet::new())?;
        let watched_checks = reader.value(&mut section, "watched_checks", BTreeSet::new())?;
        let dispute_scan_every = disputes(reader, &mut section)?;
        let auto_review = auto_review(reader, &mut section)?;
        let List(merge_notify) = reader.value(&mut section, "merge_notify_logins", List(Vec::new()))?;
        let coordinator = reader.optional::<Login>(&mut section, "stale_coordinator_login", None)?;
        let switches = switches(reader, &mut section)?;
        reader.value(&mut section, "allow_post", false)?;
        reader.value(&mut section, "post_mode", PostMode::Review)?;
        let owners = owners(reader, &mut section)?;
        let labels = labels(reader, &mut section)?;
        reader.leave(section);
        Ok(Self {
            every,
            repos,
            is_on,
            request_budget,
            settings: Settings {
                stale_after: days.stale,
                park_after: days.park,
                close_after: days.close,
                exempt_labels,
                watched_checks,
                auto_review,
                dispute_scan_every,
                merge_notify,
                coordinator,
                switches,
                people: People {
                    machine_users: pr_state.machine_users.clone(),
                    private_members: pr_state.private_members.clone(),
                },
                owners,
                labels,
            },
        })
    }
}

/// The clocks: a later rung is more days than an earlier one.
struct Days {
    stale: TimeDelta,
    park: TimeDelta,
    close: TimeDelta,
}

impl Days {
    fn read<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<Self, ConfigError> {
        let mut days = |key, default| reader.bounded(section, key, default, 1..=MOST_DAYS);
        let rungs = [
            ("stale_pr_days", days("stale_pr_days", 7)?),
            ("park_days", days("park_days", 14)?),
            ("close_days", days("close_days", 30)?),
        ];
        for [(earlier, fewer), (later, more)] in rungs.windows(2).filter_map(|pair| pair.first_chunk::<2>()) {
            if fewer < more {
                continue;
            }
            let path = |key: &str| format!("lifecycle.{key}");
            return Err(reader.contradiction([&path(later), &path(earlier)], |_, _| {
                format!("`{later}` is {more} and must be more than `{earlier}`, which is {fewer}")
            }));
        }
        let [stale, park, close] = rungs.map(|(_, days)| TimeDelta::days(days.into()));
        Ok(Self { stale, park, close })
    }
}

/// The scan for disputes, which finds nothing in this version: there are no findings yet.
fn disputes<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<TimeDelta, ConfigError> {
    reader.value(section, "dispute_scan_enabled", false)?;
    let every = reader.bounded(
        section,
        "dispute_scan_interval",
        Span::minutes(15),
        SHORTEST..=LONGEST,
    )?;
    reader.bounded(section, "dispute_scan_request_budget", 50, 0..=MOST_REQUESTS)?;
    Ok(TimeDelta::from_std(every.get()).expect("LONGEST is far below its range"))
}

fn auto_review<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<AutoReview, ConfigError> {
    let default = AutoReview::default();
    let is_on = reader.value(section, "auto_review_enabled", default.is_on)?;
    let at = TimeOfDay {
        at: default.at,
        zone: default.zone,
    };
    let TimeOfDay { at, zone } = reader.value(section, "auto_review_at", at)?;
    let hours = reader.bounded(section, "auto_review_window_hours", 6, 1..=24)?;
    reader.bounded(section, "auto_review_budget", 20, 0..=MOST_REVIEWS)?;
    reader.value(section, "auto_review_mode", ReviewMode::Direct)?;
    reader.bounded(section, "auto_review_backfill_per_night", 10, 0..=MOST_BACKFILL)?;
    Ok(AutoReview {
        is_on,
        at,
        zone,
        window: TimeDelta::hours(hours.into()),
    })
}

fn switches<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<Switches, ConfigError> {
    let mut is_on = |key| reader.value(section, key, false);
    Ok(Switches {
        owner_mention: is_on("owner_mention_enabled")?,
        ci_note: is_on("ci_note_enabled")?,
        conflict_note: is_on("conflict_note_enabled")?,
        ready_page: is_on("ready_page_enabled")?,
        stale_reminder: is_on("stale_pr_enabled")?,
        idle_ladder: is_on("idle_ladder_enabled")?,
    })
}

/// `[[lifecycle.owners]]`.
fn owners<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<Vec<OwnerRule>, ConfigError> {
    let mut rules = Vec::new();
    for mut table in reader.sections(section, "owners")? {
        let List::<Glob>(globs) = reader.required(&mut table, "globs")?;
        let List::<OwnerName>(owners) = reader.required(&mut table, "owners")?;
        let SignalName(signal) = reader.value(&mut table, "signal", SignalName(Signal::Module))?;
        reader.leave(table);
        rules.push(OwnerRule {
            globs: globs.into_iter().map(String::from).collect(),
            owners: owners.into_iter().map(|OwnerName(owner)| owner).collect(),
            signal,
        });
    }
    Ok(rules)
}

/// `[[lifecycle.labels]]`; without any, the RFC's.
fn labels<'t>(reader: &mut Reader<'t>, section: &mut Section<'t>) -> Result<Vec<LabelRule>, ConfigError> {
    let tables = reader.sections(section, "labels")?;
    if tables.is_empty() {
        let rules = LabelRule::defaults();
        for (nth, rule) in rules.iter().enumerate() {
            reader.note(format!("lifecycle.labels[{nth}].label"), json!(rule.label));
            reader.note(format!("lifecycle.labels[{nth}].globs"), json!(rule.globs));
        }
        return Ok(rules);
    }
    let mut rules = Vec::new();
    for mut table in tables {
        let label: String = reader.required(&mut table, "label")?;
        let List::<Glob>(globs) = reader.required(&mut table, "globs")?;
        reader.leave(table);
        rules.push(LabelRule {
            label,
            globs: globs.into_iter().map(String::from).collect(),
        });
    }
    Ok(rules)
}

/// `@login` or `@organisation/team`, as in `CODEOWNERS`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnerName(Owner);

impl FromStr for OwnerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is no owner; write it as \"@login\" or \"@organisation/team\"");
        let name = text.strip_prefix('@').ok_or_else(refused)?;
        let login = |name: &str| name.parse::<Login>().map_err(|_| refused());
        match name.split_once('/') {
            None => Ok(Self(Owner::User(login(name)?))),
            Some((organisation, team)) => {
                login(organisation)?;
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
                match !team.is_empty() && team.bytes().all(plain) {
                    true => Ok(Self(Owner::Team(name.to_owned()))),
                    false => Err(refused()),
                }
            }
        }
    }
}

impl Serialize for OwnerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Owner::User(login) => serializer.collect_str(&format_args!("@{login}")),
            Owner::Team(team) => serializer.collect_str(&format_args!("@{team}")),
        }
    }
}

impl Quoted for OwnerName {
    const WANTED: &'static str = "an owner in quotes, like \"@login\" or \"@organisation/team\"";
}

/// A glob of paths.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
struct Glob(String);

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = LabelRule {
            label: String::new(),
            globs: vec![text.to_owned()],
        };
        match Taxonomy::compile(&[rule]) {
            Ok(_) if text.is_empty() => Err("an empty glob matches nothing".to_owned()),
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl From<Glob> for String {
    fn from(Glob(text): Glob) -> Self {
        text
    }
}

impl Quoted for Glob {
    const WANTED: &'static str = "a glob in quotes, like \"src/**\"";
}

#[derive(Debug, Clone, Copy)]
struct SignalName(Signal);

impl FromStr for SignalName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "module" => Ok(Self(Signal::Module)),
            "model" => Ok(Self(Signal::Model)),
            other => Err(format!("{other:?} is neither \"module\" nor \"model\"")),
        }
    }
}

impl Serialize for SignalName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self.0 {
            Signal::Module => "module",
            Signal::Model => "model",
        })
    }
}

impl Quoted for SignalName {
    const WANTED: &'static str = "\"module\" or \"model\"";
}

/// A time of day with the zone that it is in: `04:00`, `04:00 Europe/Berlin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeOfDay {
    at: NaiveTime,
    zone: Tz,
}

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || format!("{text:?} is no time of day; write it like \"04:00\" or \"04:00 Europe/Berlin\"");
        let mut words = text.split_whitespace();
        let (time, zone, rest) = (words.next(), words.next(), words.next());
        let at = time
            .and_then(|time| NaiveTime::parse_from_str(time, "%H:%M").ok())
            .filter(|_| rest.is_none())
            .ok_or_else(refused)?;
        let zone = match zone {
            None => AutoReview::default().zone,
            Some(zone) => zone.parse().map_err(|_| {
                format!("{zone:?} is no time zone; write it like \"Europe/Berlin\" or \"UTC\"")
            })?,
        };
        Ok(Self { at, zone })
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at.format("%H:%M"), self.zone.name())
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Quoted for TimeOfDay {
    const WANTED: &'static str = "a time of day in quotes, like \"04:00\" or \"04:00 Europe/Berlin\"";
}

/// How the sweep's reviews are made. The provider is told; nothing else goes by it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReviewMode {
    Direct,
    Strict,
}

impl FromStr for ReviewMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "direct" => Ok(Self::Direct),
            "strict" => Ok(Self::Strict),
            other => Err(format!("{other:?} is neither \"direct\" nor \"strict\"")),
        }
    }
}

impl Quoted for ReviewMode {
    const WANTED: &'static str = "\"direct\" or \"strict\"";
}

/// What is posted, where anything is: comments and reviews that only comment, or nothing at all.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum PostMode {
    Review,
    Shadow,
}

impl FromStr for PostMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "review" => Ok(Self::Review),
            "shadow" => Ok(Self::Shadow),
            other => Err(format!("{other:?} is neither \"review\" nor \"shadow\"")),
        }
    }
}

impl Quoted for PostMode {
    const WANTED: &'static str = "\"review\" or \"shadow\"";
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::super::{Config, Environment, Source};
    use super::*;

    fn parsed(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(*value))
        };
        Config::read(Path::new("config.toml"), text, Environment::new(&look_up))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_word_everything_is_off_and_as_the_rfc_has_it() {
        let lifecycle = parsed("", &[]).unwrap().lifecycle;
        assert_eq!(lifecycle.settings, Settings::default());
        assert!(lifecycle.is_on && lifecycle.repos.is_empty());
        assert_eq!(
            (lifecycle.request_budget, lifecycle.every),
            (200, Span::seconds(120))
        );
    }

    #[test]
    fn a_variable_goes_before_the_file_and_the_file_before_the_default() {
        let text = "[lifecycle]\npark_days = 20\nclose_days = 40\nlifecycle_repos = [\"a/b\"]\n";
        let variables = [
            ("PARK_DAYS", " 21 "),
            ("LIFECYCLE_REPOS", "c/d, e/f ,"),
            ("STALE_PR_DAYS", ""),
            ("EVERY", "1s"),
        ];
        let config = parsed(text, &variables).unwrap();
        let settings = &config.lifecycle.settings;
        assert_eq!(
            [settings.stale_after, settings.park_after, settings.close_after],
            [7, 21, 40].map(TimeDelta::days)
        );
        let repos: Vec<String> = config.lifecycle.repos.iter().map(ToString::to_string).collect();
        assert_eq!(repos, ["c/d", "e/f"]);
        assert_eq!(config.lifecycle.every, Span::seconds(120));
        let source = |key: &str| {
            let entry = config.entries.iter().find(|entry| entry.key == key).unwrap();
            entry.source.to_string()
        };
        assert_eq!(source("lifecycle.park_days"), "environment PARK_DAYS");
        assert_eq!(source("lifecycle.close_days"), "config.toml:3");
        assert_eq!(source("lifecycle.stale_pr_days"), Source::Default.to_string());
    }

    #[test]
    fn every_setting_is_read_from_its_variable() {
        let config = parsed(
            "[[lifecycle.owners]]\nglobs = [\"core/**\"]\nowners = [\"@ada\", \"@lanternworks/core\"]\n\
             [[lifecycle.owners]]\nglobs = [\"models/tts/**\"]\nowners = [\"@grace\"]\nsignal = \"model\"\n\
             [[lifecycle.labels]]\nlabel = \"docs\"\nglobs = [\"docs/**\"]\n",
            &[
                ("PR_STATE_ENABLED", "false"),
                ("PR_STATE_REQUEST_BUDGET", "7"),
                ("STALE_EXEMPT_LABELS", "keep open,blocked"),
                ("WATCHED_CHECKS", "lint"),
                ("DISPUTE_SCAN_INTERVAL", "5m"),
                ("AUTO_REVIEW_ENABLED", "true"),
                ("AUTO_REVIEW_AT", "03:30 Europe/Berlin"),
                ("AUTO_REVIEW_WINDOW_HOURS", "4"),
                ("MERGE_NOTIFY_LOGINS", "zoe,ada"),
                ("STALE_COORDINATOR_LOGIN", "lead"),
                ("OWNER_MENTION_ENABLED", "true"),
                ("CI_NOTE_ENABLED", "true"),
                ("CONFLICT_NOTE_ENABLED", "true"),
                ("READY_PAGE_ENABLED", "true"),
                ("STALE_PR_ENABLED", "true"),
                ("IDLE_LADDER_ENABLED", "true"),
            ],
        )
        .unwrap();
        let login = |name: &str| name.parse::<Login>().unwrap();
        let globs = |glob: &str| vec![glob.to_owned()];
        let expected = Settings {
            exempt_labels: ["blocked", "keep open"].map(str::to_owned).into(),
            watched_checks: ["lint".to_owned()].into(),
            auto_review: AutoReview {
                is_on: true,
                at: NaiveTime::from_hms_opt(3, 30, 0).unwrap(),
                zone: Tz::Europe__Berlin,
                window: TimeDelta::hours(4),
            },
            dispute_scan_every: TimeDelta::minutes(5),
            merge_notify: vec![login("zoe"), login("ada")],
            coordinator: Some(login("lead")),
            switches: Switches {
                owner_mention: true,
                ci_note: true,
                conflict_note: true,
                ready_page: true,
                stale_reminder: true,
                idle_ladder: true,
            },
            owners: vec![
                OwnerRule {
                    globs: globs("core/**"),
                    owners: vec![
                        Owner::User(login("ada")),
                        Owner::Team("lanternworks/core".to_owned()),
                    ],
                    signal: Signal::Module,
                },
                OwnerRule {
                    globs: globs("models/tts/**"),
                    owners: vec![Owner::User(login("grace"))],
                    signal: Signal::Model,
                },
            ],
            labels: vec![LabelRule {
                label: "docs".to_owned(),
                globs: globs("docs/**"),
            }],
            ..Settings::default()
        };
        assert_eq!(config.lifecycle.settings, expected);
        assert!(!config.lifecycle.is_on);
        assert_eq!(config.lifecycle.request_budget, 7);
    }

    #[test]
    fn people_are_those_of_the_authors_half() {
        let config = parsed(
            "[pr_state]\nmachine_users = [\"robot\"]\nprivate_members = [\"quiet\"]\n",
            &[],
        )
        .unwrap();
        let people = &config.lifecycle.settings.people;
        assert_eq!((people.machine_users.len(), people.private_members.len()), (1, 1));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line_or_by_its_variable() {
        for (text, variables, expected) in [
            (
                "[lifecycle]\npark_day = 3",
                &[][..],
                "config.toml:2: unknown key `lifecycle.park_day`",
            ),
            (
                "",
                &[("PARK_DAYS", "soon")],
                "environment variable PARK_DAYS: \"soon\" is not a whole number",
            ),
            (
                "",
                &[("PARK_DAYS", "-3")],
                "environment variable PARK_DAYS: -3 is not between 1 and 3650",
            ),
            (
                "",
                &[("READY_PAGE_ENABLED", "yes")],
                "environment variable READY_PAGE_ENABLED: \"yes\" is not true or false",
            ),
            (
                "",
                &[("LIFECYCLE_REPOS", "a/b,c")],
                "environment variable LIFECYCLE_REPOS: \"c\" is not a repository name; write it as owner/name",
            ),
            (
                "",
                &[("AUTO_REVIEW_BACKFILL_PER_NIGHT", "11")],
                "environment variable AUTO_REVIEW_BACKFILL_PER_NIGHT: 11 is not between 0 and 10",
            ),
            (
                // A line that makes no sense is no better for being overruled.
                "[lifecycle]\npark_days = \"x\"",
                &[("PARK_DAYS", "20")],
                "config.toml:2: `lifecycle.park_days` wants a whole number, not a string",
            ),
            (
                "[lifecycle]\n\npark_days = 7",
                &[],
                "config.toml:3: `lifecycle.park_days`: `park_days` is 7 and must be more than `stale_pr_days`, which is 7",
            ),
            (
                "[lifecycle]\nstale_pr_days = 15",
                &[],
                "config.toml:2: `lifecycle.stale_pr_days`: `park_days` is 14 and must be more than `stale_pr_days`, \
                 which is 15",
            ),
            (
                "[lifecycle]\nclose_days = 20",
                &[("PARK_DAYS", "20")],
                "config.toml:2: `lifecycle.close_days`: `close_days` is 20 and must be more than `park_days`, which is 20",
            ),
            (
                "",
                &[("PARK_DAYS", "31")],
                "environment variable PARK_DAYS: `close_days` is 30 and must be more than `park_days`, which is 31",
            ),
            (
                "[lifecycle]\nauto_review_at = \"25:00\"",
                &[],
                "config.toml:2: `lifecycle.auto_review_at`: \"25:00\" is no time of day; write it like \"04:00\" or \
                 \"04:00 Europe/Berlin\"",
            ),
            (
                "[lifecycle]\nauto_review_at = \"04:00 Mars/Base\"",
                &[],
                "config.toml:2: `lifecycle.auto_review_at`: \"Mars/Base\" is no time zone; write it like \
                 \"Europe/Berlin\" or \"UTC\"",
            ),
            (
                "[lifecycle]\npost_mode = \"approve\"",
                &[],
                "config.toml:2: `lifecycle.post_mode`: \"approve\" is neither \"review\" nor \"shadow\"",
            ),
            (
                "[[lifecycle.owners]]\nglobs = [\"a/**\"]\nowners = [\"ada\"]",
                &[],
                "config.toml:3: `lifecycle.owners[0].owners`: \"ada\" is no owner; write it as \"@login\" or \
                 \"@organisation/team\"",
            ),
            (
                "[[lifecycle.owners]]\nowners = [\"@ada\"]",
                &[],
                "config.toml:1: `lifecycle.owners[0].globs` is missing",
            ),
            (
                "[[lifecycle.labels]]\nlabel = \"x\"\nglobs = [\"a[\"]",
                &[],
                "config.toml:3: `lifecycle.labels[0].globs`: \"a[\" is no glob: error parsing glob 'a[': unclosed character class; missing ']'",
            ),
        ] {
            let said = parsed(text, variables).map(|_| ());
            assert_eq!(said, Err(expected.to_owned()), "{text} {variables:?}");
        }
    }
}
