//! How far work is that takes long: a bar if it is known how long, else a spinner. Drawn on standard error if that is
//! a terminal, and gone with the work, however it ends; elsewhere nothing is printed. Start at [`Progress`].

use std::io::{self, Read, Write};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a spinner turns while nothing is heard, and how often work is looked at that says nothing.
const TURN: Duration = Duration::from_millis(100);

/// Everything that is drawn: what goes on at the same time is drawn on lines of its own.
static LINES: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// How far some work is. Clones show the same, which is gone with the last of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Option<Arc<Drawn>>);

#[derive(Debug)]
struct Drawn(ProgressBar);

impl Drop for Drawn {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress {
    /// Shows what is done with so many bytes, or with nobody knows how many.
    pub(crate) fn bytes(what: &str, total: Option<u64>) -> Self {
        Self::of_bytes(ProgressDrawTarget::stderr(), what, total).among_others()
    }

    fn among_others(self) -> Self {
        if let Self(Some(drawn)) = &self {
            LINES.add(drawn.0.clone());
        }
        self
    }

    /// How many bytes there are to be done, if anybody sees it: to count them may take a while.
    pub(crate) fn total(count: impl FnOnce() -> u64) -> Option<u64> {
        (!ProgressDrawTarget::stderr().is_hidden()).then(count)
    }

    /// Shows what is waited for, with the last thing that was heard of it.
    pub(crate) fn waiting(what: &str) -> Self {
        let progress =
            Self::on(ProgressDrawTarget::stderr(), None, "{spinner} {prefix} {wide_msg}");
        if let Self(Some(drawn)) = &progress {
            drawn.0.set_prefix(what.to_owned());
            drawn.0.enable_steady_tick(TURN);
        }
        progress
    }

    fn of_bytes(target: ProgressDrawTarget, what: &str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{prefix} {bytes}/{total_bytes} {wide_bar}",
            None => "{spinner} {prefix} {bytes}",
        };
        let progress = Self::on(target, total, template);
        if let Self(Some(drawn)) = &progress {
            drawn.0.set_prefix(what.to_owned());
        }
        progress
    }

    /// Nothing at all where nobody would see it.
    fn on(target: ProgressDrawTarget, total: Option<u64>, template: &str) -> Self {
        if target.is_hidden() {
            return Self(None);
        }
        let style = ProgressStyle::with_template(template);
        let style = style.expect("the templates of this module make sense");
        let bar = ProgressBar::with_draw_target(total, target).with_style(style);
        Self(Some(Arc::new(Drawn(bar))))
    }

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Counts bytes that were done.
    pub(crate) fn add(&self, bytes: u64) {
        if let Self(Some(drawn)) = self {
            drawn.0.inc(bytes);
        }
    }

    /// Sets how many bytes were done.
    pub(crate) fn reach(&self, bytes: u64) {
        if let Self(Some(drawn)) = self {
            drawn.0.set_position(bytes);
        }
    }

    /// Shows what was heard last. It must be one line.
    pub(crate) fn say(&self, line: &str) {
        if let Self(Some(drawn)) = self {
            drawn.0.set_message(line.to_owned());
        }
    }

    /// A reader or writer whose bytes count.
    pub(crate) fn count<T>(&self, inner: T) -> Counted<T> {
        Counted { inner, progress: self.clone() }
    }
}

/// A reader or writer whose bytes count.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    /// What is read from or written to.
    pub(crate) inner: T,
    progress: Progress,
}

impl<T: Read> Read for Counted<T> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(room)?;
        self.progress.add(bytes as u64);
        Ok(bytes)
    }
}

impl<T: Write> Write for Counted<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = self.inner.write(bytes)?;
        self.progress.add(bytes as u64);
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Does work that does not say how far it is, and shows how much this process reads meanwhile.
pub(crate) async fn while_reading<T>(
    what: &str,
    total: Option<u64>,
    work: impl Future<Output = T>,
) -> T {
    let progress = Progress::bytes(what, total);
    if !progress.is_shown() {
        return work.await;
    }
    let before = bytes_read();
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(TURN, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) => progress.reach(bytes_read().saturating_sub(before)),
        }
    }
}

/// What this process has read so far, as the kernel counts it; nothing if it does not.
fn bytes_read() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use indicatif::TermLike;

    use super::*;

    /// A terminal that remembers what was written and whether the last thing was a cleared line.
    #[derive(Debug, Clone, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl Paper {
        fn write(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn text(&self) -> String {
            self.0.lock().unwrap().clone()
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            60
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.write(text)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write("<cleared>")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is on a terminal after 4096 bytes were read, and what is added when the work ends.
    fn drawn(total: Option<u64>) -> (String, String) {
        let paper = Paper::default();
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        let progress = Progress::of_bytes(target, "reading", total);
        assert!(progress.is_shown());
        let bytes = io::copy(&mut progress.count(&[7; 4096][..]), &mut io::sink()).unwrap();
        assert_eq!(bytes, 4096);
        let during = paper.text();
        drop(progress);
        let after = paper.text()[during.len()..].to_owned();
        (during, after)
    }

    #[test]
    fn a_terminal_shows_how_far_it_is_and_nothing_once_it_is_done() {
        let (during, after) = drawn(Some(8192));
        assert!(during.contains("reading 4.00 KiB/8.00 KiB"), "{during}");
        assert!(after.contains("<cleared>") && !after.contains("reading"), "{after}");
        let (during, after) = drawn(None);
        assert!(during.contains("reading 4.00 KiB") && !during.contains('/'), "{during}");
        assert!(after.contains("<cleared>") && !after.contains("reading"), "{after}");
    }

    #[test]
    fn what_is_no_terminal_shows_nothing_and_the_work_is_done_all_the_same() {
        let progress = Progress::of_bytes(ProgressDrawTarget::hidden(), "reading", Some(2));
        assert!(!progress.is_shown());
        let mut read = String::new();
        progress.count(&b"ab"[..]).read_to_string(&mut read).unwrap();
        let mut written = progress.count(Vec::new());
        written.write_all(read.as_bytes()).unwrap();
        assert_eq!(written.inner, b"ab");
    }

    #[test]
    fn what_this_process_reads_is_counted() {
        let before = bytes_read();
        std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(bytes_read() > before + 1_000_000);
    }
}
