import { homedir } from 'node:os';
import { join } from 'node:path';

/** What of a user is kept: settings that they write, and what the program remembers. */
export type UserFolder = 'config' | 'state';

const FOLDERS = {
  config: { variable: 'XDG_CONFIG_HOME', windows: 'APPDATA', home: ['.config'] },
  state: { variable: 'XDG_STATE_HOME', windows: 'LOCALAPPDATA', home: ['.local', 'state'] },
} as const;

/** The folder of this program, by the XDG base directories, or by those of Windows; it may not exist. */
export function userFolder(
  kind: UserFolder,
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const { variable, windows, home } = FOLDERS[kind];
  const own = platform === 'win32' ? env[windows] : undefined;
  return join(env[variable] || own || join(homedir(), ...home), 'rocmforge');
}
