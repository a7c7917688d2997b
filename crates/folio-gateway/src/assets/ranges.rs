//! Ranges of a file, as requests ask for them. One range is served; several, or what makes no sense, are answered with
//! the whole file, as HTTP allows.

/// What a request asks for of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// From a byte to another, both included.
    Part(u64, u64),
    /// Something that the file does not have.
    Nothing,
}

/// Reads a `Range` header for a file of a length.
pub(super) fn wanted(header: &str, length: u64) -> Wanted {
    let Some(ranges) = header.strip_prefix("bytes=") else { return Wanted::Whole };
    let Some((from, to)) = ranges.split_once('-').filter(|_| !ranges.contains(',')) else {
        return Wanted::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (from.trim(), to.trim()) {
        ("", last) => match number(last) {
            Some(0) => Wanted::Nothing,
            Some(_) if length == 0 => Wanted::Nothing,
            Some(last) => Wanted::Part(length.saturating_sub(last), length - 1),
            None => Wanted::Whole,
        },
        (from, to) => {
            let Some(from) = number(from) else { return Wanted::Whole };
            let to = if to.is_empty() { Some(u64::MAX) } else { number(to) };
            match to {
                Some(to) if to < from => Wanted::Whole,
                Some(_) if from >= length => Wanted::Nothing,
                Some(to) => Wanted::Part(from, to.min(length - 1)),
                None => Wanted::Whole,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_http_says() {
        for (header, wanted_part) in [
            ("bytes=0-0", Wanted::Part(0, 0)),
            ("bytes=2-", Wanted::Part(2, 9)),
            ("bytes=2-100", Wanted::Part(2, 9)),
            ("bytes=-3", Wanted::Part(7, 9)),
            ("bytes=-100", Wanted::Part(0, 9)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("bytes=", Wanted::Whole),
        ] {
            assert_eq!(wanted(header, 10), wanted_part, "{header}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Nothing);
        assert_eq!(wanted("bytes=-1", 0), Wanted::Nothing);
    }
}
