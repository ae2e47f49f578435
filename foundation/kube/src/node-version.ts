// Refuses a Node that is too old when the packages are imported, before anything fails with a name that is not defined.
// All packages import this one.

/** The oldest Node: iterator helpers, `node:sqlite` without a flag and proxies of `http.Agent` are in it. */
const oldest = [22, 21] as const

const current: string | undefined = globalThis.process?.versions?.node
if (current !== undefined) {
  const [major = 0, minor = 0] = current.split('.').map(Number)
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Error(`Fairlead needs Node ${oldest.join('.')} or newer and this is ${current}`)
}
