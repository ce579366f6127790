//! Fields that many operators share.

use super::{MORE, operator, refused};

/// An operator that differs from others in its function alone.
const OF_A_FAMILY: &str = r#"
[OF_A_FAMILY]
number = 905
summary = "has the fields of its family"
in_place = true
implemented = true
comparison = "bit-exact"
family = "binary"
support.6_4."*" = { ranks = "1-8", types = "FLOAT32" }
"#;

#[test]
fn a_family_has_the_fields_of_its_operators() {
    let operator = operator(OF_A_FAMILY, "OF_A_FAMILY");
    let names: Vec<&str> = operator.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["ATensor", "BTensor", "OutputTensor"]);
    assert!(operator.fields.iter().all(|field| !field.doc.is_empty()));
    let cases = [
        (
            "\"binary\"",
            "\"ternary\"",
            "ternary is not a family; accepted: activation, binary, comparison, unary",
        ),
        ("family = \"binary\"", "", "has no fields; accepted: fields, or family"),
        (
            "family =",
            "fields = [{ name = \"A\", type = \"int\" }]\nfamily =",
            "fields and a family",
        ),
    ];
    for (from, to, wanted) in cases {
        let found = refused(&OF_A_FAMILY.replacen(from, to, 1));
        assert!(found.starts_with(MORE) && found.contains(wanted), "{from} -> {to}: {found}");
    }
}
