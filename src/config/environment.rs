//! The variables that go before the configuration's file.

use std::ffi::OsString;
use std::fmt;

/// Where variables are looked up.
#[derive(Clone, Copy)]
pub struct Environment<'e>(&'e dyn Fn(&str) -> Option<OsString>);

impl<'e> Environment<'e> {
    /// The variables that a function knows.
    pub fn new(look_up: &'e dyn Fn(&str) -> Option<OsString>) -> Self {
        Self(look_up)
    }

    /// No variables.
    pub fn empty() -> Self {
        Self(&|_| None)
    }

    /// What a variable holds, without blanks around it; `None` where that is nothing, which names no value.
    pub fn get(self, name: &str) -> Result<Option<String>, String> {
        let Some(value) = self.0(name) else {
            return Ok(None);
        };
        let text = value.into_string().map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
