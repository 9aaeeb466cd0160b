//! What only the operating system knows: which core a process runs on, and what it has used.
#![allow(unsafe_code)]

use std::time::Duration;

/// Keeps this thread, and the threads and processes that it starts from now on, on one core. Where that cannot be had,
/// everything runs as it comes.
pub(crate) fn pin(core: usize) {
    set_affinity(0, core);
}

/// The same for another process that has just been started. The threads that it has already are left alone.
pub(crate) fn pin_process(process: u32, core: usize) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        set_affinity(process, core);
    }
}

fn set_affinity(process: libc::pid_t, core: usize) {
    // SAFETY: the set is a plain array of bits, of which zero is a value; the call reads as much as it is told.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(process, size_of_val(&set), &raw const set);
    }
}

/// How many cores the machine has. What this thread is kept on does not count.
pub(crate) fn cores() -> usize {
    // SAFETY: it reads a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).map_or(1, |cores| cores.max(1))
}

/// The anonymous memory of a process that is in use, in bytes; zero where that cannot be had.
pub(crate) fn memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix("kB"));
    kilobytes.and_then(|number| number.trim().parse::<usize>().ok()).map_or(0, |number| number * 1_024)
}

/// The processor time that a process and all its threads have used, in user and kernel mode.
pub(crate) fn cpu_time(process: u32) -> Duration {
    let Ok(process) = libc::pid_t::try_from(process) else { return Duration::ZERO };
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to the place that they are given, which lives as long as they do.
    let failed = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) != 0 || libc::clock_gettime(clock, &raw mut time) != 0
    };
    assert!(!failed, "the process is alive");
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_kept_on_one_core_can_be_put_on_another() {
        // What a child of a pinned process does: it inherits the one core, and wants the other.
        std::thread::spawn(|| {
            // SAFETY: the set is a plain array of bits, of which zero is a value; the call writes as much as it is told.
            let allowed = unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
                [0, 1].map(|core| libc::CPU_ISSET(core, &set))
            };
            for core in [1, 0, 1] {
                pin(core);
                // SAFETY: it reads a number.
                let seen = usize::try_from(unsafe { libc::sched_getcpu() });
                assert!(!allowed[core] || seen == Ok(core), "{core}: {seen:?}");
            }
        })
        .join()
        .unwrap();
    }
}
