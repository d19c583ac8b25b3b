import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { SettingValues } from '../state/settings.ts';
import { TEXTS } from '../texts.ts';
import type { McpProblem } from '../tools/mcp-problem.ts';
import { headersOf, type McpServer, type McpServers } from '../tools/mcp-servers.ts';
import { Field } from './fields.tsx';
import { DeleteIcon } from './icons.tsx';

const { mcp: TEXT } = TEXTS;

interface McpServerFieldsProps {
  readonly servers: McpServers;
  readonly values: SettingValues;
  readonly change: (changed: Partial<SettingValues>) => void;
}

/** The MCP servers that the person added, and a field for another. */
export function McpServerFields({ servers, values: { mcpServers }, change }: McpServerFieldsProps) {
  const remove = ({ setting }: McpServer) =>
    change({ mcpServers: mcpServers.filter(({ address }) => address !== setting.address) });
  const add = (address: string, header: string) =>
    change({ mcpServers: [...mcpServers, { address, header }] });
  return (
    <details>
      <summary>
        {TEXT.title}
        {mcpServers.length > 0 && ` (${mcpServers.length})`}
      </summary>
      <div class="fields">
        <p>{TEXT.hint}</p>
        {mcpServers.length > 0 && (
          <ul class="servers">
            {servers.servers.value.map((server) => (
              <ServerItem key={server.setting.address} server={server} onRemove={() => remove(server)} />
            ))}
          </ul>
        )}
        <NewServer known={mcpServers.map(({ address }) => address)} onAdd={add} />
      </div>
    </details>
  );
}

function ServerItem({ server, onRemove }: { server: McpServer; onRemove: () => void }) {
  const { host, setting } = server;
  const { value: status } = server.status;
  return (
    <li>
      <div class="row">
        <strong>{setting.address}</strong>
        {status.kind === 'failed' && (
          <button
            type="button"
            class="small"
            aria-label={TEXT.again(host)}
            onClick={() => void server.connect()}
          >
            {TEXT.againShort}
          </button>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={TEXT.remove(host)}
          title={TEXT.remove(host)}
          onClick={onRemove}
        >
          <DeleteIcon />
        </button>
      </div>
      <div role="status">
        {status.kind === 'connecting' && TEXT.connecting}
        {status.kind === 'failed' && <Problem host={host} problem={status.problem} />}
        {status.kind === 'open' && TEXT.tools(status.tools.length)}
      </div>
      {status.kind === 'open' && (
        <dl>
          {status.tools.map(({ definition: { function: of } }) => (
            <div key={of.name}>
              <dt>
                <code>{of.name}</code>
              </dt>
              <dd>{of.description}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

/** What is wrong, and where to sign in, in a tab of its own: what leads there says whose page it is. */
function Problem({ host, problem: { kind, message, link } }: { host: string; problem: McpProblem }) {
  return (
    <>
      {TEXT.problems[kind](host, message)}{' '}
      {link && (
        <a href={link.href} target="_blank" rel="noopener noreferrer">
          {TEXT.signIn(link.host)}
        </a>
      )}
    </>
  );
}

/** Fields in the settings' form, which has no form in it. */
function NewServer({
  known,
  onAdd,
}: {
  known: readonly string[];
  onAdd: (address: string, header: string) => void;
}) {
  // Read when they are taken: Enter may arrive before the last character has been rendered.
  const address = useSignal('');
  const header = useSignal('');
  const [fault, setFault] = useState<string>();
  const add = () => {
    const url = addressOf(address.value);
    const found = !url
      ? TEXT.noAddress
      : known.includes(url)
        ? TEXT.known
        : headersOf(header.value)
          ? undefined
          : TEXT.noHeader;
    setFault(found);
    if (found !== undefined || !url) return;
    onAdd(url, header.value.trim());
    address.value = '';
    header.value = '';
  };
  return (
    <>
      <Entry
        label={TEXT.address}
        placeholder="https://"
        value={address.value}
        onInput={(value) => (address.value = value)}
        onEnter={add}
      />
      <Entry
        label={TEXT.header}
        placeholder={TEXT.headerPlaceholder}
        value={header.value}
        onInput={(value) => (header.value = value)}
        onEnter={add}
      />
      <div class="row end">
        {fault !== undefined && <p role="alert">{fault}</p>}
        <button type="button" onClick={add}>
          {TEXT.add}
        </button>
      </div>
    </>
  );
}

interface EntryProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly onEnter: () => void;
}

/** A line of text, which Enter takes. */
function Entry({ label, placeholder, value, onInput, onEnter }: EntryProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          type="text"
          autoComplete="off"
          spellcheck={false}
          value={value}
          placeholder={placeholder}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      )}
    </Field>
  );
}

/** A whole address that pages can ask; undefined for any other. */
function addressOf(written: string): string | undefined {
  try {
    const { href, protocol } = new URL(written.trim());
    return /^https?:$/.test(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}
