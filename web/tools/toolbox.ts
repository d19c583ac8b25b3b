import type { Signal } from '@preact/signals';
import type { SettingValues } from '../state/settings.ts';
import { McpServers } from './mcp-servers.ts';
import { JAVASCRIPT_TOOL, type PageTool } from './tools.ts';

/** The longest name of a function, and the room for a number behind it. */
const MOST_NAME = 64;
const NUMBER_ROOM = 4;

/** All functions that models may call, as the settings say. */
export class Toolbox {
  readonly servers: McpServers;
  readonly #settings: Signal<SettingValues>;

  constructor(settings: Signal<SettingValues>) {
    this.#settings = settings;
    this.servers = new McpServers(settings);
  }

  /** The functions that can be called now, each under a name of its own. Waits for servers that are being connected. Rejects only if it is aborted. */
  async tools(signal: AbortSignal): Promise<readonly PageTool[]> {
    const { javascript } = this.#settings.value;
    const own = javascript ? [JAVASCRIPT_TOOL] : [];
    // No server's function looks like ours.
    const names = new Set([JAVASCRIPT_TOOL.definition.function.name]);
    const others = (await this.servers.tools(signal)).map((tool) => {
      const { name } = tool.definition.function;
      let unique = name;
      for (let count = 2; names.has(unique); count++)
        unique = `${name.slice(0, MOST_NAME - NUMBER_ROOM)}_${count}`;
      names.add(unique);
      return {
        ...tool,
        definition: { ...tool.definition, function: { ...tool.definition.function, name: unique } },
      };
    });
    return [...own, ...others];
  }
}
