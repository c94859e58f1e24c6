//! The world over real HTTP.

mod client;
mod graphql;
mod http;
mod schema;
