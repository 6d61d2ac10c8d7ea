// First run: the server is empty. Three steps, and the page changes by itself when the first task arrives (it polls).
import { useState } from 'react';
import { CodeBox } from '../../components/bits';
import { formatClock } from '../../lib/format';

/** The three addresses of this server as a client's configuration names them: N, and by convention N+… behind the usual ports. */
function addresses(): { web: string; api: string; files: string } {
  const { protocol, hostname, port } = location;
  const n = Number(port || (protocol === 'https:' ? 443 : 80));
  const at = (p: number): string => `${protocol}//${hostname}:${p}`;
  return n === 8080 ? { web: at(8080), api: at(8008), files: at(8081) } : { web: at(n), api: at(n + 1), files: at(n + 2) };
}

export function FirstRun() {
  const [since] = useState(() => Date.now());
  const a = addresses();
  const conf = `api {\n  web_server:   ${a.web}\n  api_server:   ${a.api}\n  files_server: ${a.files}\n  credentials { access_key: "<your key>", secret_key: "<your secret>" }\n}\nsdk.development.report_use_subprocess: false`;
  return (
    <div className="hwrap">
      <h1>Run your first task</h1>
      <p className="lead">This server is empty. Three steps and your training shows up here by itself.</p>
      <ol className="steps">
        <li className="now">
          <span className="sn">1</span>
          <div>
            <h2>Install the SDK</h2>
            <p>Any Python from 3.8. Existing ClearML code works unchanged.</p>
            <CodeBox label="install command">pip install clearml</CodeBox>
          </div>
        </li>
        <li>
          <span className="sn">2</span>
          <div>
            <h2>Point it at this server</h2>
            <p>
              Save as <code>~/clearml.conf</code>. <code>stoker up</code> has written the same with its key to <code>clearml.conf</code> in
              its data folder.
            </p>
            <CodeBox label="configuration">{conf}</CodeBox>
          </div>
        </li>
        <li>
          <span className="sn">3</span>
          <div>
            <h2>Add two lines to your script</h2>
            <p>Metrics, console and packages are recorded from here on.</p>
            <CodeBox label="script">{'from clearml import Task\ntask = Task.init(project_name="first", task_name="hello stoker")'}</CodeBox>
          </div>
        </li>
      </ol>
      <div className="waiting" role="status">
        <span className="pulse" />
        <div>
          <b>Waiting for the first task…</b>
          <span>Listening since {formatClock(since).slice(0, 5)}. Nothing to reload.</span>
        </div>
      </div>
      <p className="alt">
        No agent yet? <code>stoker up</code> starts one on this machine.
      </p>
    </div>
  );
}
