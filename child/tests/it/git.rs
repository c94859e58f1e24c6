//! The real git on repositories of our own: over `file://`, and over real HTTP where secrets and breaks matter.

mod crash;
mod forge;
mod jobs;
mod machine;
mod room;
mod secrets;
mod site;
