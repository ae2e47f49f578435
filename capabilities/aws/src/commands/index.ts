// `fairlead fake-aws`. The command loads its implementation when it runs, so that `--help` stays fast.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

/** The commands of the fake AWS. */
export const fakeCommands: readonly Command[] = [
  command({
    name: 'serve',
    isDefault: true,
    summary: 'Serve a fake AWS: IAM and SageMaker in memory, for any SDK and for controllers',
    examples: [
      'fairlead fake-aws --port 5050',
      'fairlead fake-aws --seed seed.yaml --script script.yaml',
      'AWS_ENDPOINT_URL=http://127.0.0.1:5050 fairlead up --example sagemaker',
    ],
    options: {
      port: { flags: '-p, --port <port>', description: 'the port to listen on', default: '5050' },
      region: { flags: '--region <region>', description: 'the region of what is seeded', default: 'us-east-1' },
      seed: {
        flags: '--seed <file>',
        description:
          'resources to begin with: policies, roles, models, endpointConfigs and endpoints, each a list of inputs of the operation that creates it',
      },
      script: {
        flags: '--script <file>',
        description:
          'delays in milliseconds and failures: endpointCreating, endpointUpdating, endpointDeleting, rolePropagation, iamVisibility, latency, failingEndpoints, failures',
      },
    },
    run: async (context) => (await import('./fake-aws.ts')).run(context),
  }),
]
