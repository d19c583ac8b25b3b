import { InvalidArgumentError, Option } from 'commander';
import type { HubOptions } from '../node/hub/index.ts';

/** How models are found by name. */
export interface HubFlags {
  readonly header?: Readonly<Record<string, string>>;
  readonly offline?: boolean;
}

/** Options of commands that ask hubs. */
export function hubOptions(): Option[] {
  return [
    new Option(
      '--header <name: value>',
      'a header for the server of the model, such as an authorization; repeatable',
    )
      .argParser(headers)
      .helpGroup('Model:'),
    new Option('--offline', 'no requests: only models that are here (also: HF_HUB_OFFLINE=1)').helpGroup(
      'Model:',
    ),
  ];
}

/** What the flags say to the hub. */
export function hubOptionsOf(
  { header, offline }: HubFlags,
  { signal, logger }: Pick<HubOptions, 'signal' | 'logger'>,
): HubOptions {
  return { headers: header, offline, signal, logger };
}

function headers(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name.toLowerCase()]: value.trim() };
  throw new InvalidArgumentError('Expected a header such as "authorization: Bearer abc".');
}
