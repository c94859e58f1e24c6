//! The world over real HTTP.

mod branches;
mod client;
mod demo;
mod documents;
mod every_field;
mod graphql;
mod http;
mod maintained;
mod schema;
mod upkeep;
