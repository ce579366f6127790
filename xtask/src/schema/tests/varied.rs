//! Support that depends on an attribute.

use super::*;

/// An operator whose support depends on an attribute.
const VARIED: &str = r#"
[VARIED]
number = 903
summary = "has support that depends on an attribute"
in_place = false
support_by = "Function"
fields = [
    { name = "Function", type = "uint", enum = "reduce-function" },
    { name = "InputTensor", kind = "input", type = "tensor" },
]
[VARIED.support_for."ARGMIN ARGMAX"]
2_0."*" = { ranks = "4", types = "FLOAT16" }
4_0."*" = { ranks = "4", types = "FLOAT16 FLOAT32" }
[VARIED.support_for."AVERAGE L1 L2 LOG_SUM LOG_SUM_EXP MAX MIN MULTIPLY SUM SUM_SQUARE"]
3_0."*" = { ranks = "1-4", types = "UINT8" }
"#;

#[test]
fn tables_may_depend_on_an_attribute() {
    let varied = operator(VARIED, "VARIED");
    let cells = |tables: &[Table]| -> Vec<_> {
        tables
            .iter()
            .map(|table| (table.level, table.tensors[0].ranks, table.tensors[0].types.0))
            .collect()
    };
    let (float32, float16, uint8) = (1, 2, 16);
    assert_eq!(
        cells(&varied.tables),
        [
            ("2_0", (4, 4), float16),
            ("3_0", (1, 4), float16 | uint8),
            ("4_0", (1, 4), float32 | float16 | uint8),
        ]
    );
    let variants = &varied.varied.as_ref().unwrap().variants;
    assert_eq!(variants[0].values, [0, 1]);
    assert_eq!(cells(&variants[1].tables), [("3_0", (1, 4), uint8)]);
    let tables = generated_with(VARIED, MORE_TABLES);
    assert!(tables.contains("SupportVariant {\n                values: &[0, 1],"));
}

#[test]
fn mistakes_in_varied_tables_are_found() {
    let cases = [
        ("ARGMIN ARGMAX", "ARGMIN", "support_for has no ARGMAX"),
        ("ARGMIN ARGMAX", "ARGMIN ARGMAX MAX", "MAX is not a value, or a second time"),
        ("ARGMIN ARGMAX", "ARGMIN ARGMAX MEAN", "MEAN is not a value, or a second time"),
        ("support_by = \"Function\"", "support_by = \"Axis\"", "Axis is not a field with an enum"),
        ("support_by = \"Function\"", "", "accepted: support, or support_by with support_for"),
        ("ranks = \"1-4\"", "ranks = \"6-8\"", "the variants' ranks leave a gap"),
    ];
    for (from, to, wanted) in cases {
        let found = refused(&VARIED.replacen(from, to, 1));
        assert!(found.starts_with(MORE) && found.contains(wanted), "{from} -> {to}: {found}");
    }
}
