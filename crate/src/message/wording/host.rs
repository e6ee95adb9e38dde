//! What says that the machine's own memory ran out.

use super::Backend::Cpu;
use super::Family::{Host, HostKilled};
use super::Role::{Opens, Weak};
use super::{Wording, wording};

pub(super) static WORDINGS: &[Wording] = &[
    wording(
        "cpu_allocator",
        Cpu,
        Host,
        Opens,
        &["defaultcpuallocator:", "cpuallocator:cantallocatememory"],
    ),
    wording(
        "cpu_allocator",
        Cpu,
        Host,
        Weak,
        &[
            "cantallocatememory:youtriedtoallocate",
            "notenoughmemory:youtriedtoallocate",
            "alloc_cpu.cpp",
        ],
    ),
    wording("mmap", Cpu, Host, Opens, &["unabletommap"]),
    wording("pinned", Cpu, Host, Opens, &["cudahostalloc", "cudamallochost", "hiphostmalloc"]),
    wording(
        "shared_memory",
        Cpu,
        Host,
        Opens,
        &["unabletowritetofile</torch_", "outofsharedmemory", "insufficientsharedmemory(shm)"],
    ),
    wording("shared_memory", Cpu, Host, Weak, &["iskilledbysignal:buserror"]),
    wording("numpy", Cpu, Host, Opens, &["memoryerror:unabletoallocate", "_arraymemoryerror"]),
    wording("python", Cpu, Host, Weak, &["memoryerror", "std::bad_alloc", "cannotallocatememory"]),
    wording(
        "oom_killer",
        Cpu,
        HostKilled,
        Opens,
        &[
            "outofmemory:killedprocess",
            "outofmemory:killprocess",
            "oom-kill:constraint",
            "memorycgroupoutofmemory",
            "oom_kill_process",
            "invokedoom-killer",
        ],
    ),
    wording(
        "container_killed",
        Cpu,
        HostKilled,
        Opens,
        &[
            "oomkilled",
            "oom_killevent",
            "oom-killevent",
            "oomkillevent",
            "beenoomkilled",
            "out_of_memory+exitcode",
            "exceededmemorylimit",
            "term_memlimit",
        ],
    ),
    wording("worker_killed", Cpu, HostKilled, Opens, &["iskilledbysignal:killed"]),
    wording(
        "ray",
        Cpu,
        HostKilled,
        Opens,
        &["ray.exceptions.outofmemoryerror", "killedduetothenoderunninglowonmemory"],
    ),
    wording(
        "killed",
        Cpu,
        HostKilled,
        Weak,
        &[
            "signal9(sigkill)",
            "exitcode:-9",
            "exitcode-9",
            "exitcode137",
            "exitcode:137",
            "returncode-9",
            "diedwith<signals.sigkill:9>",
            "signals.sigkill",
            "exitedunexpectedly",
            "exitstatus137",
        ],
    ),
];
