/** The exit codes of the process. */
export const EXIT = {
  ok: 0,
  /** The work failed: a typed error was printed. */
  failure: 1,
  /** Usage error: the command line is invalid. */
  usage: 2,
  /** The terminal was closed (128 + SIGHUP). */
  hungUp: 129,
  /** Ctrl-C (128 + SIGINT). */
  interrupted: 130,
  /** The process was told to end (128 + SIGTERM). */
  terminated: 143,
} as const;

/** One of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
