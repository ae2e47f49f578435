// Why figures are missed where they are: what was measured about each on the machine of RESULTS.md, for RESULTS.md.

const awsCall =
  'other work on the processors. The wait itself adds nothing: on the way are the status write, two or three calls of the AWS SDK over HTTP and up to two writes to the object.'

/** By figure. */
export const limits: Readonly<Record<string, string>> = {
  'process start to /readyz, built':
    'about 400 ms of processor time: Node itself 45, its modules and ours read with a warm cache 80, what they do when loaded 25, the thread of the journal 55, certificates 50, the first writes and informers of the controllers 90. The figure was set on a machine 2.3 times as fast.',
  'durable create, one at a time':
    'a median of 1.3 to 1.5 ms: the fsync 0.2 to 0.4, waking the thread of the journal and the client 0.12 each in this virtual machine, the rest the request itself. Other work on the machine makes the mean.',
  'durable create, 32 in flight':
    'the main thread, 0.5 ms a request: TLS and socket 0.09, collections 0.08, field ownership 0.08, reading and checking the body 0.07.',
  'server-side apply, 32 in flight':
    'the main thread, 0.5 ms a request: TLS and socket 0.07, collections 0.07, the merge itself 0.07, the checks of the metadata 0.03; nothing else is above 0.01.',
  'list of 3,300 objects (4.5 MB)':
    'a bare HTTPS server of Node takes 12 to 17 ms for as many bytes here; the rest is copying the objects into slices.',
  'one change to the last of 1,000 watchers':
    'a thousand writes of 35 us on the server, TLS and system call, and 25 us for each in the generator of the load beside it.',
  '100 changes/s to 1,000 watchers, largest lag':
    '100,000 events a second: server and generator fill both processors, and changes wait while the thousand connections are written to.',
  'delete collection of 3,300': 'the main thread, 0.15 ms an object; 440 ms in the quietest run.',
  'GET p99 while each fsync takes 20 ms':
    'other work on the processors: 9.4 ms when this machine had nothing else to do. Reads never wait for the journal.',
  'a referent ready after 30 s -> create call of its dependent, ms p99 (median)': awsCall,
  'a referent ready after 330 s -> create call of its dependent, ms p99 (median)': awsCall,
  'a referent ready after 1320 s -> create call of its dependent, ms p99 (median)': awsCall,
  'a changed referent -> update call of its dependent, ms p99 (median)': awsCall,
  'one child of 1000 changes: ms to the write':
    'medians of eleven between 54 and 71 ms in seven quiet runs (50 to 66 ms before a memory limit for large responses and an order of first syncs came): the request of 1.4 MB is written, read, parsed and answered by the hook, the plan of 1,000 children takes 10 ms, collections of garbage as much.',
  '1000 parents with 3 children each: s from nothing to all children':
    'the server, in one thread, for the 4,000 writes that both controllers make: quiet, both are at that time. Ours takes 2.8 s of processor time until all is quiet, Metacontroller 2.7 s (docs/decisions/0107).',
  '1000 parents with 3 children each: MB of memory at its peak':
    'Node itself takes 43 MB, with node:https 51; the command with one parent 109. The 1,000 parents take 31 to 40 MB, those of Metacontroller 76 to 90 (docs/decisions/0107).',
  ...packageSteps(),
}

/** Steps of a package revision wait for the disk, one after the other, and not for the processor. */
function packageSteps(): Record<string, string> {
  const reason =
    'each step waits for the disk three to five times in a row: the objects, the refs, the state beside git, and the revisions of what watches see. That is 0.3 ms each on a machine that does nothing else, and 8 ms beside other work. With the files in memory and other work on the processors, propose takes 10 to 12, approve 16 to 22 and delete 10 to 16 ms beside 10 or 50 revisions.'
  const steps = ['create', 'propose', 'approve', 'delete']
  return Object.fromEntries(
    [10, 50, 500].flatMap((revisions) =>
      steps.map((step) => [`${step} a revision of 10 files beside ${revisions} revisions, median`, reason]),
    ),
  )
}
