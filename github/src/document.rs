//! What a GraphQL document asks for, seen by its shape and not by its words.

/// A definition that is neither a query nor a fragment, or text that is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotAQuery(pub(crate) String);

/// Whether every definition in `document` is a query or a fragment.
///
/// This reads the document as the grammar does, far enough to see where one definition ends and the
/// next begins: strings, block strings and comments are skipped, brackets are counted. Anything that
/// it does not understand is refused.
pub(crate) fn only_queries(document: &str) -> Result<(), NotAQuery> {
    let mut tokens = Tokens { rest: document };
    let mut queries = 0_u32;
    while let Some(token) = tokens.next()? {
        match token {
            // A query in its short form.
            Token::Open('{') => {
                queries += 1;
                tokens.skip_to_close('{')?;
            }
            Token::Name("query") => {
                queries += 1;
                tokens.skip_definition()?;
            }
            Token::Name("fragment") => tokens.skip_definition()?,
            Token::Name(other) => return Err(NotAQuery(format!("the definition {other:?}"))),
            Token::Open(mark) | Token::Close(mark) => {
                return Err(NotAQuery(format!("a document with a stray {mark:?}")));
            }
            Token::Other => return Err(NotAQuery("a document with a stray mark".to_owned())),
        }
    }
    if queries == 0 {
        Err(NotAQuery("a document without a query".to_owned()))
    } else {
        Ok(())
    }
}

enum Token<'a> {
    Name(&'a str),
    Open(char),
    Close(char),
    Other,
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, NotAQuery> {
        loop {
            let Some(first) = self.rest.chars().next() else {
                return Ok(None);
            };
            match first {
                '#' => {
                    let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                '"' => {
                    self.skip_string()?;
                    return Ok(Some(Token::Other));
                }
                ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' => self.rest = &self.rest[first.len_utf8()..],
                'a'..='z' | 'A'..='Z' | '_' => {
                    let end = self
                        .rest
                        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .unwrap_or(self.rest.len());
                    let (name, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    return Ok(Some(Token::Name(name)));
                }
                '{' | '(' | '[' => {
                    self.rest = &self.rest[1..];
                    return Ok(Some(Token::Open(first)));
                }
                '}' | ')' | ']' => {
                    self.rest = &self.rest[1..];
                    return Ok(Some(Token::Close(first)));
                }
                _ => {
                    self.rest = &self.rest[first.len_utf8()..];
                    return Ok(Some(Token::Other));
                }
            }
        }
    }

    fn skip_string(&mut self) -> Result<(), NotAQuery> {
        let unended = || NotAQuery("a document with a string that does not end".to_owned());
        if let Some(block) = self.rest.strip_prefix("\"\"\"") {
            // Within a block string only \""" is an escape.
            let mut rest = block;
            loop {
                let at = rest.find("\"\"\"").ok_or_else(unended)?;
                let is_escaped = rest[..at].ends_with('\\');
                rest = &rest[at + 3..];
                if !is_escaped {
                    self.rest = rest;
                    return Ok(());
                }
            }
        }
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(());
                }
                '\n' | '\r' => return Err(unended()),
                _ => {}
            }
        }
        Err(unended())
    }

    /// From a definition's first word to the end of its selection.
    fn skip_definition(&mut self) -> Result<(), NotAQuery> {
        loop {
            match self.next()? {
                Some(Token::Open('{')) => return self.skip_to_close('{'),
                Some(Token::Open(mark)) => self.skip_to_close(mark)?,
                Some(Token::Name(_) | Token::Other) => {}
                Some(Token::Close(_)) | None => {
                    return Err(NotAQuery("a definition without a selection".to_owned()));
                }
            }
        }
    }

    fn skip_to_close(&mut self, mark: char) -> Result<(), NotAQuery> {
        let mut open = vec![mark];
        while let Some(innermost) = open.last() {
            match self.next()? {
                Some(Token::Open(mark)) => open.push(mark),
                Some(Token::Close(mark)) => match (innermost, mark) {
                    ('{', '}') | ('(', ')') | ('[', ']') => drop(open.pop()),
                    _ => return Err(NotAQuery("a document whose brackets do not match".to_owned())),
                },
                Some(Token::Name(_) | Token::Other) => {}
                None => return Err(NotAQuery("a document whose brackets do not close".to_owned())),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_query_is_one() {
        let passes = |document: &str| assert_eq!(only_queries(document), Ok(()), "{document}");
        let refused = |document: &str| assert!(only_queries(document).is_err(), "{document}");
        passes("{ viewer { login } }");
        passes("query { viewer { login } }");
        passes("query Q($a: [I!] = [{b: 1}], $s: String = \"} mutation {\") @d(x: {y: 1}) { a(b: $a) }");
        passes("query mutation { mutation: subscription { mutation } } fragment mutation on T { mutation }");
        passes("# mutation M { a }\nquery { a }");
        passes("query { a(b: \"\"\"x \\\"\"\" mutation { \"\"\") }");
        passes("fragment F on T { a } query { ...F }");

        refused("");
        refused("fragment F on T { a }");
        refused("mutation { addComment(input: {}) { clientMutationId } }");
        refused("mutation M($a: ID!) { a }");
        refused("query { a } mutation { b }");
        refused("mutation { b } query { a }");
        refused("{ a } subscription { b }");
        refused("query { a }\n#\rmutation { b }");
        refused("query { a(b: \"\\\\\") } mutation { b }");
        refused("query { a(b: \"\"\"\\\\\"\"\" \"\"\") } mutation { b(c: \"\"\" \"\"\") }");
        refused("query { a } type T { a: Int }");
        refused("query { a ) }");
        refused("query { a ");
        refused("query");
        refused("} query { a }");
        refused("query { a(b: \"unended) }");
        refused("\u{feff}mutation { a }");
        refused("MUTATION { a }");
    }

    proptest! {
        #[test]
        fn a_mutation_beside_any_query_is_refused(before in 0_usize..3, word in "mutation|subscription|extend") {
            let mut definitions = vec!["query A { a(x: \"{\") { b } }", "fragment F on T { a }", "{ c }"];
            let other = format!("{word} M {{ doIt }}");
            definitions.insert(before, &other);
            prop_assert!(only_queries(&definitions.join("\n")).is_err());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = only_queries(&text);
        }
    }
}
