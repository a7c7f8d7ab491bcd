//! As much of Markdown as the pages use.

/// What matters of a page.
pub(crate) struct Markdown {
    /// As the fragments of addresses name them.
    pub(crate) headings: Vec<String>,
    pub(crate) links: Vec<String>,
    /// What stands between backticks.
    pub(crate) spans: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) text: String,
    /// Where it begins.
    pub(crate) line: usize,
    /// The heading above it, and where it is not the first block there its number, as a shell can name it.
    pub(crate) name: String,
    /// Why it is not run: a comment `<!-- not run: … -->` on the line before it.
    pub(crate) not_run: Option<String>,
}

impl Markdown {
    pub(crate) fn read(text: &str) -> Self {
        let (mut headings, mut blocks, mut prose) = (Vec::new(), Vec::new(), String::new());
        let (mut fence, mut below, mut before): (Option<Block>, _, _) = (None, 0, "");
        for (number, line) in text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), fence.as_mut()) {
                (Some(_), Some(_)) => blocks.extend(fence.take()),
                (Some(language), None) => {
                    below += 1;
                    fence = Some(Block {
                        language: language.trim().to_owned(),
                        text: String::new(),
                        line: number + 1,
                        name: shell_name(headings.last().map_or("", String::as_str), below),
                        not_run: reason(before),
                    });
                }
                (None, Some(block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {
                    if line.starts_with('#') {
                        let heading = unused(slug(line.trim_start_matches('#').trim()), &headings);
                        headings.push(heading);
                        below = 0;
                    }
                    prose.push_str(line);
                    prose.push('\n');
                }
            }
            before = line;
        }
        let (plain, spans) = without_code(&prose);
        Self { headings, links: links(&plain), spans, blocks }
    }
}

fn shell_name(heading: &str, number: usize) -> String {
    let name = heading.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    if number == 1 { name } else { format!("{name}_{number}") }
}

fn reason(comment: &str) -> Option<String> {
    let reason = comment.trim().strip_prefix("<!-- not run: ")?.strip_suffix("-->")?;
    Some(reason.trim().to_owned())
}

/// A heading that there was before gets a number.
fn unused(slug: String, known: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{slug}-{number}"));
    std::iter::once(slug.clone()).chain(numbered).find(|name| !known.contains(name)).unwrap()
}

/// As code hosts and mdBook make it of a heading.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The text without what stands between backticks, and that. A span may be broken over lines, not over paragraphs.
fn without_code(text: &str) -> (String, Vec<String>) {
    let (mut plain, mut spans, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find('`') {
        plain.push_str(&rest[..start]);
        let ticks = &rest[start..rest.len() - rest[start..].trim_start_matches('`').len()];
        let inside = &rest[start + ticks.len()..];
        let end = inside.find(ticks).filter(|end| !inside[..*end].contains("\n\n"));
        rest = match end {
            Some(end) => {
                spans.push(inside[..end].split_whitespace().collect::<Vec<_>>().join(" "));
                &inside[end + ticks.len()..]
            }
            None => inside,
        };
    }
    (plain + rest, spans)
}

fn links(plain: &str) -> Vec<String> {
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).collect()
}
