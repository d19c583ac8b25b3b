/** The object with other methods. */
export function changed<T extends object>(of: T, methods: Partial<T>): T {
  return new Proxy(of, {
    get: (target, key) => {
      const own = methods[key as keyof T];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
