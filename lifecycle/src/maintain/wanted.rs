//! What the evidence wants said or reviewed, whether or not a switch lets it out (RFC, "Actions").

use pulls::Login;
use pulls::facts::{Mergeable, PullState, Time};

use super::checks::{self, Checked};
use super::clocks::Rung;
use super::evidence::{Evidence, HeadReview, Owner};
use super::gate;
use super::projection::owner as by_name;
use super::record::{Artifact, Epoch, StateRow, Switch, Wanted};
use super::settings::{Settings, Switches};
use super::state::{Projected, State};

/// Every artifact that the evidence wants, each with its key. The same evidence wants the same keys.
///
/// A key begins with the pull request under the name that the evidence has. A repository that is renamed gives new
/// keys to what was said under the old ones, so whoever says things looks under every name that it had.
pub fn wanted(
    evidence: &Evidence,
    projected: &Projected,
    row: &StateRow,
    epoch: Epoch,
    settings: &Settings,
) -> Vec<Wanted> {
    if evidence.state != PullState::Open || evidence.is_draft || evidence.is_archived {
        return Vec::new();
    }
    let wishes = Wishes {
        evidence,
        settings,
        switches: settings.switches,
    };
    let mut found = Vec::new();
    found.extend(wishes.page(projected, row, epoch));
    found.extend(wishes.ci());
    found.extend(wishes.conflict());
    found.extend(wishes.owner());
    found.extend(wishes.notice());
    found.extend(wishes.review());
    found
}

struct Wishes<'a> {
    evidence: &'a Evidence,
    settings: &'a Settings,
    switches: Switches,
}

impl Wishes<'_> {
    fn key(&self, about: &str) -> String {
        key(self.evidence, about)
    }

    fn of_head(&self, what: &str) -> String {
        self.key(&format!("{}/{what}", self.evidence.head.sha))
    }

    fn author(&self) -> Vec<Owner> {
        let author = self.evidence.author.as_ref();
        author
            .map(|author| Owner::User(author.login.clone()))
            .into_iter()
            .collect()
    }

    fn owner(&self) -> Option<Wanted> {
        let assignment = self.evidence.assignment.as_ref()?;
        let owner = assignment.owner.clone()?;
        Some(Wanted {
            artifact: Artifact::OwnerMention,
            key: self.key(&format!("{}/owner", assignment.digest)),
            why: format!("{} owns what it changes", by_name(Some(&owner))),
            to: vec![owner],
            switch: Switch::OwnerMentionEnabled,
            is_on: self.switches.owner_mention,
        })
    }

    /// Only for a conflict that is known for this head and this base (field case B030).
    fn conflict(&self) -> Option<Wanted> {
        let (evidence, known) = (self.evidence, &self.evidence.mergeability);
        let is_known = known.mergeable == Mergeable::Conflicting
            && !known.is_stale
            && known.seen_on.as_ref() == Some(&evidence.head.sha)
            && known.seen_against.as_ref() == Some(&evidence.base.sha);
        is_known.then(|| Wanted {
            artifact: Artifact::ConflictNote,
            key: self.of_head("conflict"),
            to: self.author(),
            switch: Switch::ConflictNoteEnabled,
            is_on: self.switches.conflict_note,
            why: format!("in conflict with its base at {}", evidence.base.sha.short()),
        })
    }

    /// A check that was only cancelled earns no note (field case B010).
    fn ci(&self) -> Option<Wanted> {
        let is_red = checks::verdict(self.evidence, self.settings) == Checked::Failed;
        is_red.then(|| Wanted {
            artifact: Artifact::CiNote,
            key: self.of_head("ci_failed"),
            to: self.author(),
            switch: Switch::CiNoteEnabled,
            is_on: self.switches.ci_note,
            why: checks::in_words(self.evidence, self.settings),
        })
    }

    fn page(&self, projected: &Projected, row: &StateRow, epoch: Epoch) -> Option<Wanted> {
        let is_due = projected.state == State::ReadyForMaintainer
            && row.ready_entry_seq > row.ready_paged_seq
            && self.evidence.merge_queue_position.is_none();
        is_due.then(|| {
            let (to, why) = recipients(self.evidence, self.settings);
            Wanted {
                artifact: Artifact::ReadyPage,
                key: self.key(&format!("{}/{}/ready", epoch.0, row.ready_entry_seq)),
                to,
                switch: Switch::ReadyPageEnabled,
                is_on: self.switches.ready_page,
                why,
            }
        })
    }

    /// The highest rung that the clock has passed, of those that there are: all three, but where the reminder of
    /// day 7 alone is on.
    fn notice(&self) -> Option<Wanted> {
        let (evidence, settings, switches) = (self.evidence, self.settings, self.switches);
        if !evidence.is_managed(settings) {
            return None;
        }
        let day_seven_alone = switches.stale_reminder && !switches.idle_ladder;
        let rung = evidence.rung(settings)?;
        let rung = if day_seven_alone { Rung::Stale } else { rung };
        let (artifact, word) = match rung {
            Rung::Stale => (Artifact::StaleReminder, "stale"),
            Rung::Park => (Artifact::ParkNotice, "park"),
            Rung::Close => (Artifact::CloseNotice, "close"),
        };
        let (switch, is_on) = match rung {
            Rung::Stale if !switches.idle_ladder => (Switch::StalePrEnabled, switches.stale_reminder),
            _ => (Switch::IdleLadderEnabled, switches.idle_ladder),
        };
        let mut to = self.author();
        if rung == Rung::Stale {
            to.extend(settings.coordinator.clone().map(Owner::User));
        }
        Some(Wanted {
            artifact,
            key: self.key(&format!("{}/{word}", window(evidence.activity.at))),
            to,
            switch,
            is_on,
            why: format!("no person did anything for {}", gate::days(evidence.idle())),
        })
    }

    /// Also while it is queued or running, under the same key.
    fn review(&self) -> Option<Wanted> {
        let (evidence, settings) = (self.evidence, self.settings);
        let is_idle = evidence.is_managed(settings) && evidence.rung(settings).is_some();
        let is_unreviewed = !matches!(evidence.reviews.of_head, HeadReview::Completed { .. });
        let sweep = settings.auto_review.window_at(evidence.now)?;
        (is_unreviewed && !is_idle).then(|| Wanted {
            artifact: Artifact::Review,
            key: self.of_head("review"),
            to: Vec::new(),
            switch: Switch::AutoReviewEnabled,
            is_on: settings.auto_review.is_on,
            why: format!(
                "its head is not reviewed, and the sweep of {} is on",
                sweep.format("%Y-%m-%d %H:%M UTC")
            ),
        })
    }
}

/// A key: `owner/name#number/` and what it is about. A repository's name is folded for case, which GitHub does too.
fn key(evidence: &Evidence, about: &str) -> String {
    let at = &evidence.at;
    format!("{}#{}/{about}", at.repo.as_str().to_ascii_lowercase(), at.number)
}

/// The key of the notice of day 14 in the present window of inactivity.
pub(super) fn park_key(evidence: &Evidence) -> String {
    key(evidence, &format!("{}/park", window(evidence.activity.at)))
}

/// The start of a window of inactivity in a key.
fn window(start: Time) -> String {
    start.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Who is paged: the owner, else `MERGE_NOTIFY_LOGINS`, else the coordinator (RFC, "Who is paged"). Nobody where none
/// of them is there, which is attention.
fn recipients(evidence: &Evidence, settings: &Settings) -> (Vec<Owner>, String) {
    let users = |logins: &[Login]| logins.iter().cloned().map(Owner::User).collect::<Vec<_>>();
    if let Some(assignment) = &evidence.assignment
        && let Some(owner) = &assignment.owner
    {
        return (vec![owner.clone()], assignment.reason.clone());
    }
    if !settings.merge_notify.is_empty() {
        let why = "nobody owns it; MERGE_NOTIFY_LOGINS are paged";
        return (users(&settings.merge_notify), why.to_owned());
    }
    match &settings.coordinator {
        Some(coordinator) => (
            vec![Owner::User(coordinator.clone())],
            "nobody owns it; the coordinator is paged".to_owned(),
        ),
        None => (
            Vec::new(),
            "nobody owns it, and nobody is configured to be paged".to_owned(),
        ),
    }
}
