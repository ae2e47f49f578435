// The addresses of `--resolve`, for the Services of webhooks and APIServices.

/**
 * Returns the address of a Service's host (`name.namespace.svc`) and port. A key names it with or without `.svc`, and
 * may name the port as well: `wh.default:8443`. The most precise one counts.
 */
export function configuredAddress(
  resolve: ReadonlyMap<string, string>,
  host: string,
  port: number,
): { readonly host: string; readonly port: number } | undefined {
  const names = [host, host.replace(/\.svc$/, '')]
  const key = [...names.map((name) => `${name}:${port}`), ...names].find((candidate) => resolve.has(candidate))
  if (key === undefined) return undefined
  const address = resolve.get(key)!
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}
