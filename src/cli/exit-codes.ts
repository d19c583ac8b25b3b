/** What the process says to its caller when it ends. */
export const EXIT = {
  ok: 0,
  /** The work failed: a typed error was printed. */
  failure: 1,
  /** The command line asks for something that does not exist or cannot be meant. */
  usage: 2,
  /** Ctrl-C (128 + SIGINT). */
  interrupted: 130,
} as const;

/** One of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
