// An address of this machine that others could use: Kubernetes takes no loopback addresses for endpoints.
import { networkInterfaces } from 'node:os'

/** An IPv4 address that is not loopback; undefined on a machine that has none. */
export const ownAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
