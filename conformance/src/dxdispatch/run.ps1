<#
.SYNOPSIS
Runs the exported cases with Microsoft's DxDispatch, and records in results.json how each ended.
.EXAMPLE
./run.ps1 -DxDispatch C:\dxdispatch\dxdispatch.exe -Adapter WARP
#>
[CmdletBinding()]
param(
    # dxdispatch.exe: a path, or a name that is found on PATH
    [string] $DxDispatch = 'dxdispatch.exe',
    # WARP, or a part of a GPU's name as `dxdispatch.exe --show_adapters` prints it
    [string] $Adapter = 'WARP',
    # Only cases whose ids match, such as '*/int64/*'
    [string] $Filter = '*',
    # A case that takes longer is ended
    [int] $TimeoutSeconds = 60
)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$program = (Get-Command -Name $DxDispatch -CommandType Application | Select-Object -First 1).Path
$adapterName = if ($Adapter -eq 'WARP') { 'Microsoft Basic Render Driver' } else { $Adapter }
$manifestFile = Join-Path $PSScriptRoot 'manifest.json'
$manifest = Get-Content -LiteralPath $manifestFile -Raw -Encoding UTF8 | ConvertFrom-Json

# An empty folder for what the script writes: DxDispatch's paths are relative to where it runs.
function Clear-Result([string] $folder) {
    $results = Join-Path $folder 'results'
    if (Test-Path -LiteralPath $results) { Remove-Item -LiteralPath $results -Recurse -Force }
    New-Item -ItemType Directory -Path $results | Out-Null
}

function Invoke-Case([string] $id, [string] $script) {
    $start = New-Object System.Diagnostics.ProcessStartInfo
    $start.FileName = $program
    $start.Arguments = '"{0}" --adapter "{1}"' -f $script, $adapterName
    $start.WorkingDirectory = Split-Path -Parent $script
    $start.UseShellExecute = $false
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $process = [System.Diagnostics.Process]::Start($start)
    $stdout = $process.StandardOutput.ReadToEndAsync()
    $stderr = $process.StandardError.ReadToEndAsync()
    $ended = $process.WaitForExit(1000 * $TimeoutSeconds)
    if (-not $ended) { $process.Kill() }
    $process.WaitForExit()
    [pscustomobject] @{
        id        = $id
        exit_code = $(if ($ended) { $process.ExitCode } else { $null })
        stdout    = $stdout.Result
        stderr    = $stderr.Result
    }
}

$results = New-Object System.Collections.Generic.List[object]
try {
    foreach ($case in $manifest.cases) {
        if ($case.id -notlike $Filter) { continue }
        $script = Join-Path $PSScriptRoot $case.script
        Clear-Result (Split-Path -Parent $script)
        $results.Add((Invoke-Case $case.id (Resolve-Path -LiteralPath $script).Path))
        Write-Progress -Activity 'DxDispatch' -Status $case.id `
            -PercentComplete ([math]::Min(100, 100 * $results.Count / $manifest.cases.Count))
    }
}
finally {
    # What was run is recorded, also where the rest was not.
    $record = @{ adapter = $adapterName; results = $results.ToArray() }
    $text = ConvertTo-Json -InputObject $record -Depth 4
    $withoutMark = New-Object System.Text.UTF8Encoding $false
    [System.IO.File]::WriteAllText((Join-Path $PSScriptRoot 'results.json'), $text, $withoutMark)
}
$failed = @($results | Where-Object { $_.exit_code -ne 0 }).Count
Write-Output ('{0} cases run on {1}, {2} of them ended with an error' -f $results.Count, $adapterName, $failed)
