use std::collections::BTreeSet;

use super::*;

const ROWS: &str = "# comment\nid\tlevel\tside\tpart\tplace\n\
    M-BASE-01\tMUST\tboth\tneutral\tbasic/index\nM-BASE-02\tSHOULD NOT\tserver\tneutral\tbasic/index\n\
    M-AUTH-01\tMUST\tclient\tauthorization\tauthorization\nM-TOOL-01\tMAY\tserver\tneutral\ttools\n";

const TESTS: &str = "
/// M-BASE-01: ids keep their type.
#[test]
fn ids_are_exact() {}

#[test]
#[ignore]
fn m_base_01_slow() {}

#[tokio::test]
async fn m_tool_01_lists() { check(\"M-BASE-02\"); }

fn m_base_02_helper() {}
";

fn proofs() -> Proofs {
    let mut proofs = Proofs::default();
    proofs.add_tests("core/src/tests.rs", TESTS);
    proofs.add_cells(
        "peer\ttransport\tera\trole\tfeature\toutcome\tnote\nrmcp\tstdio\tlegacy\tclient\tlists\tpass\t\nrmcp\tstdio\tlegacy\tclient\troots\tcannot\tno API\n",
    );
    proofs
}

fn links(map: &str) -> Vec<String> {
    broken_links(&in_scope(rows::parse(ROWS).unwrap()), &map::parse(map).unwrap(), &proofs())
}

#[test]
fn rows_of_other_parts_are_out_of_scope() {
    let rows = in_scope(rows::parse(ROWS).unwrap());
    let ids: Vec<_> = rows.iter().map(|row| (row.id, row.section(), row.level.name())).collect();
    assert_eq!(
        ids,
        [("M-BASE-01", "M-BASE", "MUST"), ("M-BASE-02", "M-BASE", "SHOULD NOT"), ("M-TOOL-01", "M-TOOL", "MAY")]
    );
}

#[test]
fn a_broken_row_is_named_by_its_line() {
    assert!(rows::parse("M-A-01\tMUST\tboth\tneutral").unwrap_err().contains("line 1"));
    assert!(rows::parse("M-A-01\tOUGHT\tboth\tneutral\tx").unwrap_err().contains("`OUGHT`"));
    let twice = "M-A-01\tMUST\tboth\tneutral\tx\nM-A-01\tMUST\tboth\tneutral\tx";
    assert!(rows::parse(twice).unwrap_err().contains("twice"));
}

#[test]
fn the_map_knows_four_answers() {
    let text = "A | tests: a.rs::b, vector:c\nB | host: shows a consent screen\nC | not-offered: the tasks of the core\nD | todo";
    let entries = map::parse(text).unwrap();
    assert_eq!(entries["A"], Entry::Tests(vec!["a.rs::b", "vector:c"]));
    assert_eq!(entries["B"], Entry::Host("shows a consent screen"));
    assert_eq!(entries["C"], Entry::NotOffered("the tasks of the core"));
    assert_eq!(entries["D"], Entry::Todo);
    for bad in ["A tests: x", "A | proved: x", "A | tests:", "A | tests: x,", "A | host: ui", "A | todo\nA | todo"] {
        assert!(map::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn links_that_lead_somewhere_are_silent() {
    let map = "M-BASE-01 | tests: core/src/tests.rs::ids_are_exact\nM-BASE-02 | tests: interop:rmcp/stdio/legacy/client/lists\nM-TOOL-01 | todo";
    assert_eq!(links(map), Vec::<String>::new());
}

#[test]
fn dangling_ids_missing_rows_and_strays_are_named() {
    let map = "M-BASE-01 | tests: core/src/tests.rs::gone, core/src/tests.rs::m_base_01_slow, core/src/tests.rs::m_base_02_helper\n\
               M-BASE-02 | tests: interop:rmcp/stdio/legacy/client/roots, interop:rmcp/stdio/modern/client/lists, vector:gone\n\
               M-AUTH-01 | todo";
    let complaints = links(map);
    for part in ["no test core/src/tests.rs::gone", "is ignored", "no test core/src/tests.rs::m_base_02_helper"] {
        assert!(complaints.iter().any(|line| line.starts_with("M-BASE-01") && line.contains(part)), "{part}");
    }
    for part in ["says `cannot`", "no interop cell rmcp/stdio/modern", "vectors/gone.json"] {
        assert!(complaints.iter().any(|line| line.starts_with("M-BASE-02") && line.contains(part)), "{part}");
    }
    assert!(complaints.iter().any(|line| line.starts_with("M-TOOL-01 has no entry")));
    assert!(complaints.iter().any(|line| line.starts_with("M-AUTH-01 is in")));
    assert_eq!(complaints.len(), 8);
}

#[test]
fn tests_name_rows_in_names_comments_and_bodies() {
    let mentions = proofs().mentions();
    assert_eq!(mentions["M-BASE-01"], ["core/src/tests.rs::ids_are_exact"]);
    assert_eq!(mentions["M-BASE-02"], ["core/src/tests.rs::m_tool_01_lists"]);
    assert_eq!(mentions["M-TOOL-01"], ["core/src/tests.rs::m_tool_01_lists"]);
}

#[test]
fn row_ids_are_read_exactly() {
    let named = proofs::rows_named("(M-BASE-01), L-TOOL-12; x-M-SUB-03-y M-base-04 N-BASE-05 M-BASE-6 utf-8");
    let expected = ["L-TOOL-12", "M-BASE-01", "M-SUB-03"].map(str::to_owned);
    assert_eq!(named, BTreeSet::from(expected));
}

#[test]
fn strictness_asks_for_every_must_and_most_shoulds() {
    let rows = in_scope(rows::parse(ROWS).unwrap());
    let entries = map::parse("M-BASE-01 | todo\nM-BASE-02 | todo\nM-TOOL-01 | tests: x").unwrap();
    let coverage = coverage::measure(&rows, &entries);
    assert_eq!(coverage.complaints(false), Vec::<String>::new());
    let complaints = coverage.complaints(true);
    assert!(complaints[0].contains("M-BASE-01") && complaints[1].contains("M-BASE-02"));
    assert!(coverage.table().contains("M-BASE"));

    let proved = map::parse("M-BASE-01 | tests: x\nM-BASE-02 | tests: x\nM-TOOL-01 | todo").unwrap();
    assert_eq!(coverage::measure(&rows, &proved).complaints(true), Vec::<String>::new());
}

#[test]
fn more_than_a_quarter_for_the_host_is_too_much() {
    let rows = in_scope(rows::parse(ROWS).unwrap());
    let entries = map::parse("M-BASE-01 | host: shows a consent screen\nM-BASE-02 | todo\nM-TOOL-01 | todo").unwrap();
    assert!(coverage::measure(&rows, &entries).complaints(false)[0].contains("left to the host"));
}
