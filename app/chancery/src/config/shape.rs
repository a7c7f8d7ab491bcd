//! Compares what was written with the settings there are, and says everything that does not fit.

use toml::{Table, Value};

use super::problems::Problems;

/// Notes each name that is no setting and each value of the wrong kind, and takes it out. `shape` has every setting once.
pub fn compare(written: &mut Table, shape: &Table, problems: &mut Problems) {
    compare_table(written, shape, "", problems);
}

/// The settings of a shape, by their full names: `server.listen`, `identity.external.issuer`.
#[cfg(test)]
pub fn names(shape: &Table) -> Vec<String> {
    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table {
                    walk(value, &join(path, key), found);
                }
            }
            Value::Array(list) if list.first().is_some_and(Value::is_table) => walk(&list[0], path, found),
            _ => found.push(path.to_owned()),
        }
    }
    let mut found = Vec::new();
    walk(&Value::Table(shape.clone()), "", &mut found);
    found
}

/// What a person would call the kind of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text in quotes",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a time",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

/// How what is said of an unknown name begins, and goes on where another is near.
const UNKNOWN: &str = "is not a setting";
const NEAR: &str = "; did you mean ";

/// What is said to have been meant by a name that is unknown, if anything; none where something else is said.
pub fn meant(message: &str) -> Option<Option<&str>> {
    let rest = message.strip_prefix(UNKNOWN)?;
    Some(rest.strip_prefix(NEAR).map(|near| near.trim_end_matches('?')))
}

/// That something is no setting, with the nearest name there is.
pub fn unknown(key: &str, shape: &Table) -> String {
    let near = shape.keys().map(|known| (distance(key, known), known)).min();
    // What has less than half of its letters in common is not near, however short it is.
    let near = near.filter(|(distance, _)| *distance <= 3 && *distance * 2 <= key.chars().count());
    match near {
        Some((_, known)) => format!("{UNKNOWN}{NEAR}{known}?"),
        None => format!("{UNKNOWN}; chancery.example.toml lists all there are"),
    }
}

fn compare_table(written: &mut Table, shape: &Table, path: &str, problems: &mut Problems) {
    written.retain(|key, value| {
        let path = join(path, key);
        match shape.get(key) {
            Some(shape) => compare_value(value, shape, &path, problems),
            None => {
                problems.add(path, unknown(key, shape));
                false
            }
        }
    });
}

/// Whether a value can stay.
fn compare_value(written: &mut Value, shape: &Value, path: &str, problems: &mut Problems) -> bool {
    match (written, shape) {
        (Value::Table(written), Value::Table(shape)) => {
            compare_table(written, shape, path, problems);
            true
        }
        (Value::Array(written), Value::Array(shape)) => {
            let mut place = 0..;
            let all = written.iter_mut().zip(&mut place);
            // Every one is compared. A list that lacks some would be another.
            all.fold(true, |fit, (value, place)| {
                compare_value(value, &shape[0], &format!("{path}.{place}"), problems) && fit
            })
        }
        // 1 is as good as 1.0.
        (Value::Integer(_), Value::Float(_)) => true,
        (written, shape) if std::mem::discriminant(&*written) == std::mem::discriminant(shape) => true,
        (written, shape) => {
            problems.add(path, format!("must be {}, not {}", kind(shape), kind(written)));
            false
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// How many letters must be changed, added or taken away (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for column in 0..to.len() {
            let changed = corner + usize::from(letter != to[column]);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(written: &str, shape: &str) -> Vec<String> {
        let mut problems = Problems::default();
        compare(&mut written.parse().unwrap(), &shape.parse().unwrap(), &mut problems);
        problems.0.into_iter().map(|problem| format!("{}: {}", problem.setting, problem.message)).collect()
    }

    #[test]
    fn every_unknown_name_and_wrong_kind_is_told() {
        let shape = "[server]\nlisten = ''\nport = 1\n[[list]]\nname = ''\n";
        let written = "[server]\nlisen = ''\nport = '1'\nxyzzyxyzzy = 1\n[[list]]\nname = 'a'\n[[list]]\nnome = 'b'";
        assert_eq!(
            problems(written, shape),
            [
                "list.1.nome: is not a setting; did you mean name?",
                "server.lisen: is not a setting; did you mean listen?",
                "server.port: must be a whole number, not a text in quotes",
                "server.xyzzyxyzzy: is not a setting; chancery.example.toml lists all there are",
            ]
        );
    }

    #[test]
    fn a_section_where_a_value_belongs_is_told() {
        assert_eq!(problems("[a.b]\nc = 1", "[a]\nb = 1"), ["a.b: must be a whole number, not a section"]);
        assert_eq!(problems("a = 1", "[a]\nb = 1"), ["a: must be a section, not a whole number"]);
    }
}
