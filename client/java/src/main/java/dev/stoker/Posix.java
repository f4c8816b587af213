// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The system calls that Java has no class for, by the foreign function API: sockets that pass
 * descriptors, and the memory that those are of. Linux on 64 bits. Any thread.
 */
final class Posix {
  static final int AF_UNIX = 1;
  static final int SOCK_STREAM = 1;
  static final int SOCK_CLOEXEC = 0x80000;
  static final int SOL_SOCKET = 1;
  static final int SO_PEERCRED = 17;
  static final int SCM_RIGHTS = 1;
  static final int MSG_DONTWAIT = 0x40;
  static final int MSG_CTRUNC = 0x8;
  static final int MSG_NOSIGNAL = 0x4000;
  static final int MSG_CMSG_CLOEXEC = 0x40000000;
  static final int SHUT_RDWR = 2;
  static final int POLLIN = 1;
  static final int POLLOUT = 4;
  static final int O_NOCTTY = 0x100;
  static final int O_NONBLOCK = 0x800;
  static final int O_NOFOLLOW = 0x20000;
  static final int O_CLOEXEC = 0x80000;
  static final int O_PATH = 0x200000;
  static final int F_GET_SEALS = 1034;
  static final int F_SEAL_SHRINK = 2;
  static final int SEEK_END = 2;
  static final int PROT_READ = 1;
  static final int MAP_SHARED = 1;
  static final int EINTR = 4;
  static final int EAGAIN = 11;

  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final AddressLayout POINTER = ValueLayout.ADDRESS;
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle SOCKET = find("socket", INT, INT, INT, INT);
  private static final MethodHandle CONNECT = find("connect", INT, INT, POINTER, INT);
  private static final MethodHandle GETSOCKOPT =
      find("getsockopt", INT, INT, INT, INT, POINTER, POINTER);
  private static final MethodHandle SENDMSG = find("sendmsg", LONG, INT, POINTER, INT);
  private static final MethodHandle RECVMSG = find("recvmsg", LONG, INT, POINTER, INT);
  private static final MethodHandle SHUTDOWN = find("shutdown", INT, INT, INT);
  private static final MethodHandle POLL = find("poll", INT, POINTER, LONG, INT);
  private static final MethodHandle OPEN = find("open", 2, INT, POINTER, INT);
  private static final MethodHandle CLOSE = find("close", INT, INT);
  private static final MethodHandle FCNTL = find("fcntl", 2, INT, INT, INT);
  private static final MethodHandle LSEEK = find("lseek", LONG, INT, LONG, INT);
  private static final MethodHandle MMAP =
      find("mmap", POINTER, POINTER, LONG, INT, INT, INT, LONG);
  private static final MethodHandle MUNMAP = find("munmap", INT, POINTER, LONG);

  private Posix() {}

  /** A call failed; `errno` says why. */
  static final class Failure extends IOException {
    private static final long serialVersionUID = 1;
    final int errno;

    Failure(String call, int errno) {
      super(call + ": error " + errno);
      this.errno = errno;
    }
  }

  private static MethodHandle find(String name, MemoryLayout result, MemoryLayout... arguments) {
    return find(name, -1, result, arguments);
  }

  /** Of a variadic function the number of arguments that are not. */
  @SuppressWarnings("restricted")
  private static MethodHandle find(
      String name, int fixed, MemoryLayout result, MemoryLayout... arguments) {
    Linker.Option state = Linker.Option.captureCallState("errno");
    Linker.Option[] options = {state};
    if (fixed >= 0) {
      options = new Linker.Option[] {state, Linker.Option.firstVariadicArg(fixed)};
    }
    return LINKER.downcallHandle(
        LINKER.defaultLookup().find(name).orElseThrow(),
        FunctionDescriptor.of(result, arguments),
        options);
  }

  /** One call of a function that gives a number; below zero it failed. */
  private static long call(String name, MethodHandle function, Object... arguments) throws Failure {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      Object[] all = new Object[arguments.length + 1];
      all[0] = state;
      System.arraycopy(arguments, 0, all, 1, arguments.length);
      Object result = function.invokeWithArguments(all);
      long number =
          result instanceof MemorySegment address
              ? address.address()
              : ((Number) result).longValue();
      if (number == -1) throw new Failure(name, (int) ERRNO.get(state, 0L));
      return number;
    } catch (Failure e) {
      throw e;
    } catch (Throwable e) { // what invoke() is declared to throw
      throw new IllegalStateException(name, e);
    }
  }

  static int socket() throws Failure {
    return (int) call("socket", SOCKET, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }

  static void connect(int fd, MemorySegment address) throws Failure {
    call("connect", CONNECT, fd, address, (int) address.byteSize());
  }

  /** The user who serves a socket. */
  static int peer(int fd) throws Failure {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment credentials = arena.allocate(INT, 3); // pid, uid, gid
      MemorySegment size = arena.allocateFrom(INT, 12);
      call("getsockopt", GETSOCKOPT, fd, SOL_SOCKET, SO_PEERCRED, credentials, size);
      return credentials.getAtIndex(INT, 1);
    }
  }

  static int sendmsg(int fd, MemorySegment header, int flags) throws Failure {
    return (int) call("sendmsg", SENDMSG, fd, header, flags);
  }

  static int recvmsg(int fd, MemorySegment header, int flags) throws Failure {
    return (int) call("recvmsg", RECVMSG, fd, header, flags);
  }

  static void shutdown(int fd) throws Failure {
    call("shutdown", SHUTDOWN, fd, SHUT_RDWR);
  }

  /** Wait for one descriptor; false: it took too long. */
  static boolean poll(int fd, int events, int ms) throws Failure {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment one = arena.allocate(8, 4);
      one.set(INT, 0, fd);
      one.set(ValueLayout.JAVA_SHORT, 4, (short) events);
      return call("poll", POLL, one, 1L, ms) > 0;
    } catch (Failure e) {
      if (e.errno == EINTR) return false;
      throw e;
    }
  }

  /** For reading, without waiting for a FIFO's writer. */
  static int open(byte[] path) throws Failure {
    return open(path, O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }

  private static int open(byte[] path, int flags) throws Failure {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocate(path.length + 1L);
      MemorySegment.copy(path, 0, text, ValueLayout.JAVA_BYTE, 0, path.length);
      return (int) call("open", OPEN, text, flags);
    }
  }

  /** Does anything stand there, readable or not, be it a link to nothing? */
  static boolean exists(byte[] path) {
    try {
      close(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
      return true;
    } catch (Failure e) {
      return false;
    }
  }

  static void close(int fd) {
    try {
      call("close", CLOSE, fd);
    } catch (Failure e) {
      // It is closed all the same.
    }
  }

  static boolean isSealed(int fd) {
    try {
      return (call("fcntl", FCNTL, fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0;
    } catch (Failure e) {
      return false;
    }
  }

  static long size(int fd) throws Failure {
    return call("lseek", LSEEK, fd, 0L, SEEK_END);
  }

  /** Shared, for reading; unmapped with the arena. */
  @SuppressWarnings("restricted")
  static MemorySegment map(int fd, long size, Arena arena) throws Failure {
    long at = call("mmap", MMAP, MemorySegment.NULL, size, PROT_READ, MAP_SHARED, fd, 0L);
    return MemorySegment.ofAddress(at).reinterpret(size, arena, Posix::unmap).asReadOnly();
  }

  private static void unmap(MemorySegment memory) {
    try {
      call("munmap", MUNMAP, memory, memory.byteSize());
    } catch (Failure e) {
      // It stays mapped.
    }
  }
}
