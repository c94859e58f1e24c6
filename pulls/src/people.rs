//! Who somebody is to a pull request: a bot, a maintainer, its author.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Account, AccountKind, Association, PullFacts};
use crate::ids::Login;

/// What the facts cannot tell about accounts and the configuration can.
///
/// A bot is known by the kind of its account, whatever its name and however it stands to the repository
/// (field cases B057 and B060). GitHub cannot tell a machine user from a person, and it shows a member
/// whose membership is private as `CONTRIBUTOR` or `NONE` (field case B059); both can be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct People {
    /// Accounts of the kind `User` that are programs.
    pub machine_users: BTreeSet<Login>,
    /// People who maintain though their association does not say so.
    pub private_members: BTreeSet<Login>,
}

impl People {
    /// Whether a program acts through the account.
    pub fn is_bot(&self, account: &Account) -> bool {
        account.kind == AccountKind::Bot || self.machine_users.contains(&account.login)
    }

    /// Whether somebody of this account and association speaks for the repository: a MEMBER, OWNER or
    /// COLLABORATOR, or a listed private member, and never a bot. A deleted account is nobody.
    pub fn is_maintainer(&self, account: Option<&Account>, association: &Association) -> bool {
        let Some(account) = account else { return false };
        if self.is_bot(account) {
            return false;
        }
        let says_so = matches!(
            association,
            Association::Member | Association::Owner | Association::Collaborator
        );
        says_so || self.private_members.contains(&account.login)
    }
}

/// Whether the account is the pull request's author. Two deleted accounts are not one person.
pub fn is_author(pull: &PullFacts, account: Option<&Account>) -> bool {
    match (&pull.author, account) {
        (Some(author), Some(account)) => author.login == account.login,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(login: &str, kind: AccountKind) -> Account {
        Account {
            login: login.parse().unwrap(),
            kind,
        }
    }

    #[test]
    fn b060_the_bot_test_comes_before_the_association_test() {
        let people = People::default();
        let bot = account("dependabot", AccountKind::Bot);
        assert!(!people.is_maintainer(Some(&bot), &Association::Member));
        assert!(people.is_bot(&bot));
    }

    #[test]
    fn b057_one_bot_under_both_forms_of_its_name() {
        let graphql = account("coderabbitai", AccountKind::Bot);
        let rest = account("coderabbitai[bot]", AccountKind::Bot);
        assert_eq!(graphql, rest);
        assert!(People::default().is_bot(&rest));
        // A person may well be called something with "bot".
        assert!(!People::default().is_bot(&account("abbot", AccountKind::User)));
    }

    #[test]
    fn b059_association_decides_and_private_members_can_be_listed() {
        let mut people = People::default();
        let person = account("Quiet-Member", AccountKind::User);
        assert!(!people.is_maintainer(Some(&person), &Association::Contributor));
        people.private_members.insert("quiet-member".parse().unwrap());
        assert!(people.is_maintainer(Some(&person), &Association::Contributor));
        assert!(people.is_maintainer(Some(&person), &Association::None));
    }

    #[test]
    fn machine_users_are_bots_and_a_deleted_account_is_nobody() {
        let mut people = People::default();
        let robot = account("ci-robot", AccountKind::User);
        assert!(people.is_maintainer(Some(&robot), &Association::Collaborator));
        people.machine_users.insert("CI-Robot".parse().unwrap());
        assert!(people.is_bot(&robot));
        assert!(!people.is_maintainer(Some(&robot), &Association::Collaborator));
        assert!(!people.is_maintainer(None, &Association::Member));
    }

    #[test]
    fn associations_that_are_no_maintainers() {
        let person = account("person", AccountKind::User);
        for word in [
            "CONTRIBUTOR",
            "FIRST_TIMER",
            "FIRST_TIME_CONTRIBUTOR",
            "MANNEQUIN",
            "NONE",
            "SOMETHING_NEW",
        ] {
            assert!(
                !People::default().is_maintainer(Some(&person), &word.into()),
                "{word}"
            );
        }
    }
}
