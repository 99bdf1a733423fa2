#pragma once
/// \file The end of Open MPI's launcher on a node that has lost another one.
///
/// mpirun ends a job by telling the daemon of each node to end its ranks, and waits for the answers. Where the link to
/// a node is down no answer comes, and TCP gives the connection up after some 15 minutes only (tcp_retries2); the
/// daemon on the other side waits as long. So a rank that ends the job because others do not answer starts a process
/// that outlives it and gives the launcher of this node some seconds. If it is still there then, the process shuts down
/// the launcher's connections to other hosts, as the kernel would have done later: the launcher takes the node as lost
/// and ends, mpirun with the exit code of the job. A launcher whose connections may not be reached (pidfd_getfd(2),
/// which containers and ptrace_scope may forbid) is sent SIGTERM, on which mpirun ends with 1. Nothing is done to any
/// other parent, such as srun or a shell.

namespace multicard {

/// Starts that process. Call it just before the end of this one. May be called from any thread; does nothing on
/// kernels before 5.6.
void end_launcher_later();

}  // namespace multicard
