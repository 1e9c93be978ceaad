"""What ``dotnet test`` is made to print; each line of a project's text file is a test (``dotnet_sdk``)."""

from tests.recorders.case import Case, meaning

PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>$(TestFramework)</TargetFramework>
    <IsTestProject>true</IsTestProject>
    <UseAppHost>false</UseAppHost>
    <GenerateRuntimeConfigurationFiles>false</GenerateRuntimeConfigurationFiles>
    <DisableImplicitFrameworkReferences>true</DisableImplicitFrameworkReferences>
  </PropertyGroup>
  <ItemGroup>
    <Content Include="*.txt;*.json" CopyToOutputDirectory="PreserveNewest" />
    <None Include="$(TestLibraries)/*.dll" CopyToOutputDirectory="PreserveNewest" Visible="false" />
    <Reference Include="$(TestLibraries)/*.dll" Exclude="$(TestLibraries)/testhost.dll" />
    <Reference Include="$(TestLibraries)/ref/*.dll" Private="false" />
  </ItemGroup>
</Project>
"""
RUNTIME = """{"runtimeOptions": {"tfm": "netcoreapp3.1",
 "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}}}
"""
SOLUTION = """
Microsoft Visual Studio Solution File, Format Version 12.00
Project("{9A19103F-16F7-4668-BE54-9A1E7A4F7556}") = "A", "A/A.csproj", "{11111111-1111-4111-8111-111111111111}"
EndProject
Project("{9A19103F-16F7-4668-BE54-9A1E7A4F7556}") = "B", "B/B.csproj", "{22222222-2222-4222-8222-222222222222}"
EndProject
Global
\tGlobalSection(SolutionConfigurationPlatforms) = preSolution
\t\tDebug|Any CPU = Debug|Any CPU
\tEndGlobalSection
\tGlobalSection(ProjectConfigurationPlatforms) = postSolution
\t\t{11111111-1111-4111-8111-111111111111}.Debug|Any CPU.ActiveCfg = Debug|Any CPU
\t\t{11111111-1111-4111-8111-111111111111}.Debug|Any CPU.Build.0 = Debug|Any CPU
\t\t{22222222-2222-4222-8222-222222222222}.Debug|Any CPU.ActiveCfg = Debug|Any CPU
\t\t{22222222-2222-4222-8222-222222222222}.Debug|Any CPU.Build.0 = Debug|Any CPU
\tEndGlobalSection
EndGlobal
"""
RESTORE = "mkdir .empty && dotnet restore --source .empty > .restored && "
"""Before a run, from no source at all: the projects need no package."""


def project(name: str, *tests: str, source: str = "class X {}\n", folder: str = "") -> dict[str, str]:
    """Return the files of one test project; ``source`` is its C# text."""
    texts = {
        ".csproj": PROJECT,
        ".txt": "".join(f"{test}\n" for test in tests),
        ".runtimeconfig.json": RUNTIME,
    }
    files = {f"{folder}{name}{suffix}": text for suffix, text in texts.items()}
    return {**files, f"{folder}X.cs": source}


def solution(first: tuple[str, ...], second: tuple[str, ...]) -> dict[str, str]:
    """Return the files of two test projects in one solution."""
    parts = {**project("A", *first, folder="A/"), **project("B", *second, folder="B/")}
    return {"P.sln": SOLUTION, **parts}


ONE_AT_A_TIME = " --no-restore -m:1"
"""Restored already; in the order of the solution."""
MIXED = project("P", "Pass.A", "Fail.B", "Skip.C", "Pass.D")
MANY = tuple(f"Pass.A{number}" for number in range(15))
TEST = RESTORE + "dotnet test --no-restore"
GERMAN = "in-german"
DOTNET = [
    Case("pass", project("P", "Pass.A", "Pass.B"), "dotnet test",
         meaning("pass", passed=2, failed=0, skipped=0, total=2), runs=TEST),
    Case("mixed", MIXED, "dotnet test 2>&1", meaning("fail", passed=2, failed=1, skipped=1, total=4), runs=TEST),
    Case("skipped", project("P", "Pass.A", "Skip.B"), "dotnet test P.csproj",
         meaning("pass", passed=1, failed=0, skipped=1, total=2), runs=TEST),
    Case("all-skipped", project("P", "Skip.B"), "dotnet test",
         meaning("skipped", passed=0, failed=0, skipped=1, total=1), runs=TEST),
    Case("nothing", project("P"), "dotnet test", meaning("unknown", "partial"), runs=TEST),
    Case("detailed", MIXED, 'dotnet test --logger "console;verbosity=detailed"',
         meaning("fail", passed=2, failed=1, skipped=1, total=4),
         runs=TEST + ' --logger "console;verbosity=detailed"'),
    Case("quiet", MIXED, "dotnet test -v q", meaning("fail", passed=2, failed=1, skipped=1, total=4),
         runs=TEST + " -v q"),
    Case("script", {**MIXED, "Makefile": "test:\n\t@dotnet test --no-restore\n"}, "make test",
         meaning("fail", passed=2, failed=1, skipped=1, total=4), runs=RESTORE + "make test"),
    Case("vstest", project("P", "Pass.A"), "dotnet vstest bin/Debug/netcoreapp3.1/P.dll",
         meaning("pass", passed=1, failed=0, skipped=0, total=1),
         runs=RESTORE + "dotnet build --no-restore > .built && dotnet vstest bin/Debug/$TestFramework/P.dll"),
    Case("solution", solution(("Pass.A", "Pass.B"), ("Pass.C", "Skip.D")), "dotnet test",
         meaning("pass", passed=3, failed=0, skipped=1, total=4), runs=RESTORE + "dotnet test" + ONE_AT_A_TIME),
    Case("solution-fails", solution(("Fail.A", "Pass.B"), ("Pass.C",)), "dotnet test P.sln",
         meaning("fail", passed=2, failed=1, skipped=0, total=3), runs=RESTORE + "dotnet test" + ONE_AT_A_TIME),
    Case("solution-with-one-empty", solution(("Pass.A",), ()), "dotnet test",
         meaning("pass", passed=1, failed=0, skipped=0, total=1), runs=RESTORE + "dotnet test" + ONE_AT_A_TIME),
    Case("solution-with-one-dead", solution(("Fail.A",), ("Dies.B",)), "dotnet test",
         meaning("fail", "partial", passed=0, failed=1, skipped=0, total=1),
         runs=RESTORE + "dotnet test" + ONE_AT_A_TIME),
    Case("dies", project("P", "Pass.A", "Dies.B"), "dotnet test", meaning("error"), runs=TEST),
    Case("dies-late", project("P", *MANY, "Dies.B"), "dotnet test", meaning("error"), runs=TEST),
    Case("does-not-build", project("P", "Pass.A", source="class {\n"), "dotnet test", meaning("error"), runs=TEST),
    Case("list", MIXED, "dotnet test --list-tests", None, runs=TEST + " --list-tests"),
    Case(GERMAN, MIXED, "dotnet test", meaning("error"), runs=TEST, env={"LC_ALL": "de_DE.UTF-8"}),
    Case(GERMAN + "-pass", project("P", "Pass.A"), "dotnet test", meaning("unknown", "partial"), runs=TEST,
         env={"LC_ALL": "de_DE.UTF-8"}),
]  # fmt: skip
"""The older SDK in its npm package has no other language than English: it is not asked for one."""
