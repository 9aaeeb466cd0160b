//! The rows of the specification, as `tests/requirements/rows.tsv` lists them.

/// How strongly a row binds. `Rule` binds by the schema, a table or plain prose, without a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Must,
    MustNot,
    Should,
    ShouldNot,
    May,
    Rule,
}

impl Level {
    const ALL: [Self; 6] = [Self::Must, Self::MustNot, Self::Should, Self::ShouldNot, Self::May, Self::Rule];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
            Self::May => "MAY",
            Self::Rule => "rule",
        }
    }
}

/// One normative statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) id: &'a str,
    pub(super) level: Level,
    pub(super) side: &'a str,
    pub(super) part: &'a str,
    pub(super) place: &'a str,
}

impl<'a> Row<'a> {
    /// The id without its number: `M-BASE` for `M-BASE-07`.
    pub(super) fn section(&self) -> &'a str {
        self.id.rsplit_once('-').map_or(self.id, |(section, _)| section)
    }
}

/// Reads the file; the error names the line.
pub(super) fn parse(text: &str) -> Result<Vec<Row<'_>>, String> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') || line.starts_with("id\t") {
            continue;
        }
        let row = row(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if rows.iter().any(|before| before.id == row.id) {
            return Err(format!("line {}: {} is there twice", number + 1, row.id));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn row(line: &str) -> Result<Row<'_>, String> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [id, level, side, part, place] = fields[..] else {
        return Err(format!("has {} fields, not 5", fields.len()));
    };
    let Some(level) = Level::ALL.into_iter().find(|known| known.name() == level) else {
        return Err(format!("`{level}` is no level"));
    };
    Ok(Row { id, level, side, part, place })
}
