// The fake AWS: `new FakeAws({ clock })` in process, `FakeAwsServer.start(aws)` over HTTP for any SDK.
export { FakeAws } from './fake-aws.ts'
export type { FakeAwsOptions, FakeCall, Seed } from './fake-aws.ts'
export { FakeAwsServer } from './fake-server.ts'
export type { FakeServerOptions } from './fake-server.ts'
export { FakeError } from './fake-error.ts'
export type { Fields } from './fake-context.ts'
export type { Script } from './script.ts'
