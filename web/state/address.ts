/** What an address asks for besides a conversation. */
export interface Asked {
  /** `?q=`: what stands in the field for the message. */
  readonly message: string | undefined;
  /** `?model=`: the model of the server that answers. */
  readonly model: string | undefined;
}

/**
 * What the address asks for, by the names of llama.cpp's page, and once: it is taken out of the address. A message is not sent by that,
 * since any page can link here.
 */
export function takeAsked(): Asked {
  const address = new URL(location.href);
  const { searchParams: query } = address;
  const take = (name: string) => {
    const value = query.get(name)?.trim();
    query.delete(name);
    return value === '' ? undefined : value;
  };
  const asked = { message: take('q'), model: take('model') };
  if (asked.message !== undefined || asked.model !== undefined) history.replaceState(null, '', address);
  return asked;
}
