// The version of the API server.

/** The document of `/version`. */
export const serverVersion: Readonly<Record<string, string>> = {
  major: '1',
  minor: '35',
  emulationMajor: '1',
  emulationMinor: '35',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '34',
  gitVersion: 'v1.35.4+fairlead',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.25',
  compiler: 'gc',
  platform: 'linux/amd64',
}
