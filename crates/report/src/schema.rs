//! JSON Schemas of all JSON output, derived from the fields and doc comments of the printed types.

use itertools::Itertools;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use switchcost_analysis::compare::{Comparison, History, InTurns};
use switchcost_record::Fitness;
use switchcost_record::observation::Observation;

use crate::simulate::{at_once, orders, trials};
use crate::{Document, OutputFormat, inject, measure, observe, reproduce, simulate, trace};

/// Returns the schemas of all JSON documents, each with the document's name and version.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        document_schema::<measure::json::Report<'_>>(),
        document_schema::<observe::json::Report<'_>>(),
        document_schema::<observe::interval::Interval<'_>>(),
        schema_of::<Observation>(switchcost_record::observation::OBSERVATION_FORM),
        document_schema::<inject::json::Report<'_>>(),
        schema_of::<switchcost_record::prices::Prices>(switchcost_record::prices::PRICES_SCHEMA),
        document_schema::<&Comparison>(),
        document_schema::<&InTurns>(),
        document_schema::<&History>(),
        schema_of::<Fitness>(switchcost_record::DOCTOR_SCHEMA),
        document_schema::<&trace::Info<'_>>(),
        document_schema::<&trace::Checked<'_>>(),
        document_schema::<simulate::json::Report<'_>>(),
        document_schema::<trials::Trials<'_>>(),
        document_schema::<orders::Orders<'_>>(),
        document_schema::<at_once::Report<'_>>(),
        document_schema::<reproduce::json::Report<'_>>(),
        document_schema::<reproduce::claims::Claims>(),
    ]
}

fn document_schema<T: OutputFormat>() -> (&'static str, Schema) {
    schema_of::<Document<T>>(T::NAME)
}

/// Returns the schema of a document of type `T`, whose field `schema` has the value `name`.
pub fn schema_of<T: JsonSchema>(name: &'static str) -> (&'static str, Schema) {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_owned(), name.into());
    let named = schema
        .pointer_mut("/properties/schema")
        .and_then(Value::as_object_mut);
    named
        .expect("each form says its name")
        .insert("const".to_owned(), name.into());
    RecursiveTransform(rewrite_description).transform(&mut schema);
    (name, schema)
}

/// Rewrites the doc comments of the source for readers of a JSON Schema: links to items become
/// plain code, and `None` becomes null.
fn rewrite_description(schema: &mut Schema) {
    let Some(Value::String(said)) = schema.get_mut("description") else {
        return;
    };
    let line = said.split_whitespace().join(" ");
    let replaced = [
        ("[`", "`"),
        ("`]", "`"),
        (". `None`", ". Null"),
        ("`None`", "null"),
    ];
    *said = replaced
        .into_iter()
        .fold(line, |line, (from, to)| line.replace(from, to));
}
